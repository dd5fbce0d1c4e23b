"""The labels of the demo corpus, each described in one sentence, as models that read descriptions need it."""

from __future__ import annotations

from spanwise.schema import EntityType, RelationType, Schema

_EVENTS = {
    "Acquire": "A word that tells of an event in which one organization buys another, such as bought or takeover.",
    "Appoint": "A word that tells of an event in which somebody is given an office, such as named or appointment.",
    "Open": "A word that tells of an event in which a building or an exhibition opens, such as inaugurated.",
    "Strike": "A word that tells of an event in which workers stop work in protest, such as strike or walked out.",
    "Fund": "A word that tells of an event in which somebody gives money to a cause, such as grant or raised.",
    "Win": "A word that tells of an event in which somebody wins a contest or a prize, such as beat or victory.",
}
_ENTITIES = {
    "Person": "The name of a person, with the honorific before it.",
    "Role": "An office or job that a named person holds or is given, with the body it belongs to if named with it.",
    "Organization": "The name of a company, university, authority, union, club or foundation.",
    "Place": "The name of a town, region or country, also inside other names.",
    "Facility": "The name of a building or site such as an airport, hospital, harbor or hall.",
    "Product": "The name of something that is made and sold, with maker and number where they belong to the name.",
    "Date": "A day, month, quarter or year, or words that stand for one, without the preposition.",
    "Money": "A sum of money with its currency.",
    **_EVENTS,
}
_BODIES = ("Organization",)
_ACTORS = ("Person", "Organization")
_ALL_EVENTS = tuple(_EVENTS)


def demo_schema() -> Schema:
    """Eight types of names and six of event triggers; nine relations and six kinds of event arguments."""
    relations = (
        RelationType(
            "works_for", "The person works, worked or plays for the organization.", False, ("Person",), _BODIES
        ),
        RelationType("holds", "The person holds the office or job.", False, ("Person",), ("Role",)),
        RelationType(
            "located_in",
            "The organization or building stands in the place or carries its name.",
            False,
            ("Organization", "Facility"),
            ("Place",),
        ),
        RelationType(
            "headquartered_in", "The organization has its head office in the place.", False, _BODIES, ("Place",)
        ),
        RelationType("founded_by", "The organization was founded by the person.", False, _BODIES, ("Person",)),
        RelationType("acquired", "The first organization bought the second, or is about to.", False, _BODIES, _BODIES),
        RelationType("part_of", "The first organization belongs to the second.", False, _BODIES, _BODIES),
        RelationType("makes", "The organization makes the product.", False, _BODIES, ("Product",)),
        RelationType("partner_of", "The two organizations work together.", True, _BODIES, _BODIES),
        RelationType(
            "agent", "Who carries out the event: buyer, opener, striker, giver, winner.", False, _ALL_EVENTS, _ACTORS
        ),
        RelationType(
            "theme",
            "What the event happens to: what is bought, opened or funded, who is appointed, struck against or beaten.",
            False,
            _ALL_EVENTS,
            (*_ACTORS, "Facility"),
        ),
        RelationType("position", "The office that the appointment is to.", False, ("Appoint",), ("Role",)),
        RelationType("place", "Where the event takes place.", False, _ALL_EVENTS, ("Place", "Facility")),
        RelationType("time", "When the event takes place.", False, _ALL_EVENTS, ("Date",)),
        RelationType("amount", "The money that changes hands.", False, ("Acquire", "Fund"), ("Money",)),
    )
    return Schema(tuple(EntityType(name, text) for name, text in _ENTITIES.items()), relations)
