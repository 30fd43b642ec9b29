"""German reasoning from a seed, honest or looping, for tests.

Its words are none of those that limits were set on.
"""

import random
from collections.abc import Callable


def _split(words: str) -> list[str]:
    return words.split("|")


NAMES = _split("Thea|Yusuf|Greta|Pavel|Ines|Rasmus|Mirko|Svenja|Tomke|Alois|Zehra|Falk|Birte|Jonas")
FAMILY = _split("Quast|Öztürk|Ruhland|Dvorak|Paulsen|Wirth|Behrens|Ziegler|Moor|Lindner|Stahl|Kern")
HOUSES = _split("Kranbau Sieblinger|Stadtwerke Lohne|Weberei Tann|Optik Marbach|Mühle Ostrau")
WORK = _split(
    "die Umstellung der Lohnabrechnung|das neue Lager in Emden|die Wartung der Pumpen|den"
    " Umzug des Archivs|die Schulung der Meister|das Fahrplanbuch|die Prüfung der Kessel"
)
POINTS = _split("Führung|Sorgfalt|Tempo|Fachwissen|Verhandlung|Planung|Sicherheit|Sprachen")
NOTES = [
    "Bei {p} überzeugt {n}: {w} lief {j} ohne Verzug.",
    "{n} nennt {w}, doch zu {p} steht kaum etwas im Bogen von {h}.",
    "Zu {p} finde ich {k} Belege, der stärkste ist {w} bei {h}.",
    "Seit {j} betreut {n} bei {h} {w}, das spricht für {p}.",
    "Ob {p} reicht, bleibt offen, denn {h} erwähnt nur {w}.",
    "Das Zeugnis aus {j} lobt {p} ausdrücklich und führt {w} an.",
    "Auf Seite {k} schreibt {n} über {w}; wer so arbeitet, dem fehlt es nicht an {p}.",
    "Mich irritiert, dass {h} schon {j} aufhörte, trotzdem war {w} gewiss lehrreich für {p}.",
    "Unter {p} fasse ich auch {w}, wofür immerhin {k} Leute unterstellt waren.",
    "Hätte {h} nicht {j} umgestellt, wüsste man mehr; so bleibt für {p} nur {w}.",
    "Laut Anschreiben begann {w} im Frühjahr {j}, was {p} glaubhaft macht.",
    "Kurz zu {p}: {k} Lehrgänge, dazu {w}, allerdings ohne Nachweis von {h}.",
    "Die Mitarbeiter von {h} hoben hervor, wie ruhig {n} {w} begleitete, Stichwort {p}.",
]
MARKS = _split("Also {k} Punkte.|Ich notiere eine {k}.|Das ergibt {k}.|Macht {k} von zehn.")
AGAINST = [
    "{n} liegt bei {p} knapp vor {m}, weil {w} schwerer wiegt.",
    "Gegenüber {m} fehlt {n} etwas {p}, dafür zählt {w}.",
    "Im Vergleich zu {m} sind es bei {p} {k} Punkte Abstand.",
]


def _person(rng: random.Random) -> dict[str, list[str]]:
    return {
        "n": [f"{rng.choice(NAMES)} {rng.choice(FAMILY)}-{rng.randrange(100, 999)}"],
        "h": rng.sample(HOUSES, 2),
        "w": [f"{work} ({rng.randrange(1000, 9999)})" for work in rng.sample(WORK, 4)],
        "j": [str(rng.randrange(1998, 2026)) for _ in range(4)],
    }


def _say(rng: random.Random, lines: list[str], person: dict[str, list[str]], **more: str) -> str:
    values = {key: rng.choice(options) for key, options in person.items()}
    values |= {"p": rng.choice(POINTS), "k": str(rng.randrange(1, 11))} | more
    return rng.choice(lines).format(**values)


def analysis(rng: random.Random, person: dict[str, list[str]]) -> str:
    """One person, point by point."""
    lines = [f"Nun zu {person['n'][0]}."]
    for point in rng.sample(POINTS, len(POINTS)):
        lines += [_say(rng, NOTES, person, p=point), _say(rng, MARKS, person)]
    return " ".join(lines)


def honest_reasoning(seed: int, characters: int) -> str:
    """Reasoning that goes on, group after group of eleven people."""
    rng = random.Random(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < characters:
        people = [_person(rng) for _ in range(11)]
        parts += [analysis(rng, person) for person in people]
        for _ in range(20):
            one, two = rng.sample(people, 2)
            parts.append(" ".join(_say(rng, AGAINST, one, m=two["n"][0]) for _ in range(4)))
    return "\n\n".join(parts)[:characters]


def _counter(rng: random.Random, room: int) -> str:
    name = _person(rng)["n"][0]
    return " ".join(f"Durchgang {i}: {name} noch einmal prüfen." for i in range(room // 20))


def _flip(rng: random.Random, room: int) -> str:
    one, two = _person(rng)["n"][0], _person(rng)["n"][0]
    turn = f"Vorn liegt {{}}. Nein, doch eher {{}}, wegen {rng.choice(POINTS)} ({{}}). "
    pairs = [(one, two), (two, one)]
    return "".join(turn.format(*pairs[i % 2], i % 7) for i in range(room // 30))


def _near(rng: random.Random, room: int) -> str:
    return " ".join(
        rng.choice(["Liste", "Listen", "ListeDie", "Die Liste"]) for _ in range(room // 4)
    )


def _reworded(rng: random.Random, room: int) -> str:
    person = _person(rng)
    return "\n\n".join(analysis(rng, person) for _ in range(room // 300))


def _block(rng: random.Random, room: int) -> str:
    block = "\n\n".join(analysis(rng, _person(rng)) for _ in range(3)) + "\n\n"
    return block * (room // len(block) + 1)


LOOPS: dict[str, Callable[[random.Random, int], str]] = {
    "token": lambda rng, room: f"{rng.choice(['und', 'dann', '2.'])} " * room,
    "sentence": lambda rng, room: f"{_say(rng, NOTES, _person(rng))} " * (room // 30),
    "block": _block,
    "counter": _counter,
    "flip": _flip,
    "near": _near,
    "reworded": _reworded,
}


def looping_reasoning(kind: str, seed: int, characters: int, onset: float = 0.5) -> str:
    """Honest up to `onset` (0 to 1), then a loop of one of the kinds in LOOPS."""
    rng = random.Random(f"{kind} {seed}")
    head = honest_reasoning(seed + 1000, int(characters * onset)) + "\n\n"
    return (head + LOOPS[kind](rng, characters - len(head)))[:characters]
