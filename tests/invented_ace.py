"""An invented document in the layout of ACE: `.sgm` and `.apf.xml`."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

# Without its tags the text begins with "\n  Invented.1 \n", 15 characters; the body starts at 15.
SGM = """<DOC>
<DOCID>  Invented.1 </DOCID>
<BODY>
<TEXT>
The mayor of Halden left
Oak &amp; Sons yesterday.
</TEXT>
</BODY>
</DOC>
"""
BODY = "\n\nThe mayor of Halden left\nOak & Sons yesterday.\n\n"


def charseq(tag: str, start: int, text: str) -> str:
    return f'<{tag}><charseq START="{start}" END="{start + len(text) - 1}">{escape(text)}</charseq></{tag}>'


def entity_mention(id: str, start: int, text: str, head: tuple[int, str] | None = None) -> str:
    inside = charseq("extent", start, text) + (charseq("head", *head) if head else "")
    return f'<entity_mention ID="{id}" TYPE="NAM">{inside}</entity_mention>'


ENTITIES = (
    '<entity ID="E1" TYPE="PER" SUBTYPE="Individual">'
    + entity_mention("E1-1", 17, "The mayor of Halden", (21, "mayor"))
    + '<entity_attributes><name NAME="x"/></entity_attributes></entity>\n<entity ID="E2" TYPE="GPE">'
    + entity_mention("E2-1", 30, "Halden", (30, "Halden"))
    + '</entity>\n<entity ID="E3" TYPE="ORG">'
    + entity_mention("E3-1", 42, "Oak & Sons", (42, "Oak & Sons"))
    + "</entity>\n"
)
RELATION_2005 = """<relation ID="R1" TYPE="ORG-AFF" SUBTYPE="Employment">
<relation_argument REFID="E1" ROLE="Arg-1"/>
<relation_mention ID="R1-1">
<relation_mention_argument REFID="E2-1" ROLE="Arg-2"/>
<relation_mention_argument REFID="E1-1" ROLE="Arg-1"/>
<relation_mention_argument REFID="T1-1" ROLE="Time-Within"/>
</relation_mention></relation>
"""
RELATION_2004 = """<relation ID="R1" TYPE="ORG-AFF" SUBTYPE="Employment">
<rel_entity_arg ENTITYID="E1" ARGNUM="1"/>
<relation_mention ID="1-1"><rel_mention_arg ENTITYMENTIONID="E1-1" ARGNUM="1"/>
<rel_mention_arg ENTITYMENTIONID="E2-1" ARGNUM="2"/></relation_mention></relation>
"""
EVENT = (
    '<event ID="V1" TYPE="Movement" SUBTYPE="Transport"><event_argument REFID="E1" ROLE="Artifact"/>'
    + '<event_mention ID="V1-1">'
    + charseq("extent", 17, "The mayor of Halden left")
    + charseq("anchor", 37, "left")
    + '<event_mention_argument REFID="E1-1" ROLE="Artifact"/></event_mention></event>\n'
)
TIME = '<timex2 ID="T1"><timex2_mention ID="T1-1"/></timex2>\n'


def apf(content: str) -> str:
    return f"""<?xml version="1.0"?>
<!DOCTYPE source_file SYSTEM "apf.v5.1.1.dtd">
<source_file URI="x.sgm" SOURCE="newswire" TYPE="text">
<document DOCID="Invented.1">
{content}</document>
</source_file>
"""


def put(
    folder: Path, name: str = "Invented.1", sgm: str = SGM, content: str = ENTITIES + RELATION_2005 + EVENT + TIME
) -> Path:
    """Write the pair of files into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.sgm").write_text(sgm, encoding="utf-8", newline="")
    (folder / f"{name}.apf.xml").write_text(apf(content), encoding="utf-8")
    return folder
