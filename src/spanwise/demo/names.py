"""Invented names, built from parts that no two splits share: a test sentence holds names never seen in training."""

from __future__ import annotations

import re
from random import Random

_TOWN_STEMS = {
    "train": "Brenn Oskel Tavel Quarr Hestel Morven Aldren Wexel Carsten Dunver Fenn Grell Iver Jorven Kelst Lorm "
    "Madrel Nettrel Orrin Pell Rusk Sorn Thrax Ulver Vann Whist Yarl Zell Ambrel Corven Esker Harl Kirr Stoven Trew "
    "Brask",
    "dev": "Ashken Blent Croven Dask Elver Gorst Hulm Skerr Tarven Wend",
    "test": "Arbel Chald Drell Fosk Glaiven Hober Krist Mulgen Penver Rothem Selver Ungel",
}
_TOWN_ENDINGS = "ford ham wick by stead more mouth ley ton holm borough field"
_SURNAME_STEMS = {
    "train": "Tell Corr Vard Hask Brem Oster Lind Marr Pasc Quent Rall Sedg Torv Umber Vesp Wray Yeld Zand Fairl Gant "
    "Holm Ingr Jess Kell Lock Mott Norr Prow",
    "dev": "Abern Bost Crell Dorn Ekel Fost Grav Hett Isem",
    "test": "Anst Bick Calv Dray Ember Fisk Garr Hind Kest Lamb",
}
_SURNAME_ENDINGS = "ane wick er ley son ott ard ell am ing ow erby"
_FIRST_NAMES = {
    "train": "Maren Ilsa Joran Odric Tavin Sorrel Petra Lucan Edda Renske Corin Halla Bastien Mirel Anouk Davit Greta "
    "Oskar Nella Tobin Yara Simen Ravi Leona Kofi Amara Pavel Ines",
    "dev": "Elke Marten Salome Idris Vesna Hugo Talia Bram Noor",
    "test": "Astrid Ruben Clio Emeka Liesl Matti Zofia Dorian Priya Anton",
}
_NATIONS = {
    "train": "Ardovia Veskany Talmoria Orsenia Kelmark Lundavia Sarovia Merrowland Istrany Polderia Quenland Zemara",
    "dev": "Corvania Hestria Druvia Ostmark",
    "test": "Belmoria Vantland Osmeria Trevania",
}
_BRANDS = {
    "train": "Norvane Quillon Ostrel Velmark Tessaro Brightline Calyx Dorvex Emberly Fluxor Gantry Helvion Ixora "
    "Jantar Korrel Lumeo Marquent Nimbra Orvo Pellion Quantis Rivelle Solvane Tandrel Umbriel Vantor Wexcom Zephra "
    "Arcadine Boreal",
    "dev": "Altaris Brevon Cindral Dovena Evotek Forvia Galmont Hexeon Juvena",
    "test": "Aquilon Belvara Cortexa Drivon Elmora Farrow Glintek Hyperia Isolde Kaldera",
}
_MODELS = {
    "train": "Tern Lumora Kestrel Pilot Vega Sonde Merlin Halo Ridge Corsair Prisma Nomad Beacon Delta Otter Comet",
    "dev": "Heron Solaris Apex Lynx Zenith",
    "test": "Plover Aurora Vector Badger Quasar Marlin",
}
_TRIPLE = re.compile(r"(.)\1\1")
_ATTEMPTS = 200


class Names:
    """Draws the names and numbers of one split; within a sentence no name comes twice."""

    def __init__(self, random: Random, split: str) -> None:
        self._random = random
        self._parts = {
            "town": (_TOWN_STEMS[split].split(), _TOWN_ENDINGS.split()),
            "surname": (_SURNAME_STEMS[split].split(), _SURNAME_ENDINGS.split()),
            "first": (_FIRST_NAMES[split].split(), [""]),
            "nation": (_NATIONS[split].split(), [""]),
            "brand": (_BRANDS[split].split(), [""]),
            "model": (_MODELS[split].split(), [""]),
        }
        self._used: set[str] = set()

    def start_sentence(self) -> None:
        self._used.clear()

    def draw(self, kind: str) -> str:
        """A new name, or a number, of this kind."""
        if kind not in self._parts:
            return self._number(kind)
        stems, endings = self._parts[kind]
        for _ in range(_ATTEMPTS):
            name = self._random.choice(stems) + self._random.choice(endings)
            if name not in self._used and not _TRIPLE.search(name):
                self._used.add(name)
                return name
        raise ValueError(f"a sentence asks for more names of kind {kind!r} than there are; add some to this split.")

    def _number(self, kind: str) -> str:
        between = self._random.randrange
        match kind:
            case "dom":
                return str(between(1, 29))
            case "yyyy":
                return str(between(1962, 2026))
            case "future":
                return str(between(2026, 2036))
            case "age":
                return str(between(19, 84))
            case "percent":
                return str(between(2, 24))
            case "count":
                return str(between(14, 980))
            case "number":
                return self._random.choice(("2", "3", "5", "7", "9", "40", "80", "120", "300", "500", "X1", "X2", "S4"))
            case "decimal":
                return f"{between(1, 90)}.{between(1, 10)}" if between(2) else str(between(2, 900))
            case "thousands":
                return f"{between(2, 800)},{between(0, 1000, 50):03d}"
        raise ValueError(f"the grammar asks for {kind!r}, which is neither a rule nor a kind of name; add it.")
