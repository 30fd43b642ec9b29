"""Synthetic reasoning over eleven profiles, honest and looping, from a seed.

English; the tests have a generator of their own with another language and other sentences, so
that nothing is measured on the texts it was set on.
"""

import random
from dataclasses import dataclass


def _split(words: str) -> list[str]:
    return words.split("|")


FIRST = _split(
    "Anna|Boris|Carla|Dilek|Emil|Farida|Georg|Hanna|Ivo|Jelena|Karim|Lena|Marek|Nora|Oskar"
)
LAST = _split(
    "Albers|Brandt|Cakir|Dorn|Ekberg|Fiala|Gruber|Haas|Ilic|Jansen|Kraus|Lenz|Moser|Novak"
)
FIRMS = _split(
    "Nordwerk|Helix|Tessera|Bluepeak|Ferrum|Oakline|Vantis|Quantor|Meridia|Silvan|Arcado"
)
TOWNS = _split("Kiel|Graz|Leeds|Turku|Brno|Lyon|Porto|Basel|Ghent|Malmo|Bergen|Tartu|Cork|Linz")
PROJECTS = _split(
    "a billing migration|an access portal|the data lake|a tax engine|the search rewrite|a"
    "n alarm hub|the fleet planner|a claims desk|the audit trail|a booking core"
)
SKILLS = _split(
    "Kafka|Postgres|Terraform|Rust|Django|Spark|Kotlin|Ansible|Snowflake|Redis|Vault|Grafana"
)
CRITERIA = _split(
    "experience|leadership|cloud|security|data|communication|testing|domain|education|availability"
)
EVIDENCE = [
    "{n} spent {y} years at {f} in {t}, mostly on {p}, so for {c} that is solid.",
    "On {c} I see {p} at {f}; {y} people were involved and {s} was the main tool.",
    "The file mentions {s} next to {p}, which speaks for {c}, though only since {z}.",
    "For {c} there is one line: {p}, {f}, {z}. Thin, but it counts.",
    "Nothing explicit about {c}; the closest hint is {s} in {t} around {z}.",
    "{n} describes {p} in detail, {y} releases in {z}, and that covers {c} well.",
    "Regarding {c}: certified in {s} since {z}, and used it at {f}.",
    "As to {c}, the reference from {f} praises {p} and the work in {t}.",
]
POINTS = _split(
    "That earns {k} of 10.|I would put {k} here.|So {k} points, not more.|Given the weigh"
    "ts this is a {k}.|Let me note {k} for now.|A fair mark is {k}."
)
COMPARE = [
    "{a} beats {b} on {c} because {p} is larger than what {b} did at {f}.",
    "Between {a} and {b} the gap in {c} is {k} points, mainly due to {s}.",
    "{b} is closer to {a} than I thought: {c} differs by {k} only.",
    "If {c} counts more, {a} stays ahead of {b}; {t} and {z} do not change that.",
    "For {c}, {a} has {f} and {s}, {b} has {p}; I lean to {a}.",
]


@dataclass(frozen=True)
class Profile:
    """One invented applicant."""

    name: str
    firms: tuple[str, ...]
    towns: tuple[str, ...]
    projects: tuple[str, ...]
    skills: tuple[str, ...]
    years: tuple[int, ...]


def make_profiles(rng: random.Random, count: int = 11) -> list[Profile]:
    """Profiles of one shape with facts of their own."""
    return [
        Profile(
            f"{rng.choice(FIRST)} {rng.choice(LAST)}{index}",
            tuple(f"{rng.choice(FIRMS)}{rng.randrange(100)}" for _ in range(4)),
            tuple(rng.sample(TOWNS, 3)),
            tuple(rng.sample(PROJECTS, 4)),
            tuple(rng.sample(SKILLS, 5)),
            tuple(rng.randrange(2005, 2026) for _ in range(4)),
        )
        for index in range(count)
    ]


def _fill(rng: random.Random, template: str, profile: Profile, other: Profile, topic: str) -> str:
    return template.format(
        n=profile.name,
        a=profile.name,
        b=other.name,
        c=topic,
        f=rng.choice(profile.firms),
        t=rng.choice(profile.towns),
        p=rng.choice(profile.projects),
        s=rng.choice(profile.skills),
        z=rng.choice(profile.years),
        y=rng.randrange(2, 12),
        k=rng.randrange(1, 10),
    )


def analysis(rng: random.Random, profile: Profile) -> str:
    """One profile, criterion by criterion."""
    lines = [f"Now {profile.name}."]
    for topic in CRITERIA:
        lines.append(_fill(rng, rng.choice(EVIDENCE), profile, profile, topic))
        lines.append(_fill(rng, rng.choice(POINTS), profile, profile, topic))
    return " ".join(lines)


def comparison(rng: random.Random, first: Profile, second: Profile) -> str:
    """Two profiles against each other."""
    topics = rng.sample(CRITERIA, 4)
    return " ".join(_fill(rng, rng.choice(COMPARE), first, second, topic) for topic in topics)


def honest(seed: int, characters: int) -> str:
    """Reasoning that goes on: notes, marks, comparisons, then a further job with new people."""
    rng = random.Random(seed)
    parts: list[str] = []
    size = 0
    job = 0
    while size < characters:
        job += 1
        people = make_profiles(rng)
        steps = [f"Job {job}: read the eleven files first."]
        steps += [analysis(rng, person) for person in people]
        pairs = [(a, b) for i, a in enumerate(people) for b in people[i + 1 :]]
        steps += [comparison(rng, a, b) for a, b in rng.sample(pairs, 30)]
        marks = "; ".join(f"{person.name} {rng.randrange(40, 95)}" for person in people)
        steps.append(f"Draft for job {job}: {marks}.")
        parts += steps
        size += sum(map(len, steps))
    return "\n\n".join(parts)[:characters]


def looping(kind: str, seed: int, characters: int, onset: float) -> str:
    """Honest reasoning up to `onset` (0 to 1), then a loop of the given kind."""
    rng = random.Random(f"{kind}-{seed}")
    head = honest(seed, int(characters * onset))
    people = make_profiles(random.Random(seed))
    room = characters - len(head)
    return head + "\n\n" + LOOPS[kind](rng, people, room)[:room]


def _token(rng: random.Random, _: list[Profile], room: int) -> str:
    return f"{rng.choice(['and', 'so', '1.', 'the'])} " * room


def _sentence(rng: random.Random, people: list[Profile], room: int) -> str:
    return (comparison(rng, *rng.sample(people, 2)).split(". ")[0] + ". ") * room


def _block(rng: random.Random, people: list[Profile], room: int) -> str:
    block = "\n\n".join(analysis(rng, person) for person in rng.sample(people, 2)) + "\n\n"
    return block * (room // len(block) + 1)


def _counter(rng: random.Random, people: list[Profile], room: int) -> str:
    topic, name = rng.choice(CRITERIA), rng.choice(people).name
    return "".join(f"Step {i}: check {topic} of {name} once more. " for i in range(room // 20))


def _flip(rng: random.Random, people: list[Profile], room: int) -> str:
    one, two = (person.name for person in rng.sample(people, 2))
    turns = [
        f"{one} is better on {topic} by {i % 7}. No, wait, {two} has more {topic}. "
        for i, topic in zip(range(room // 30), CRITERIA * room, strict=False)
    ]
    return "".join(turns)


def _near(rng: random.Random, _: list[Profile], room: int) -> str:
    variants = ["items", "its", "itemsThe", "item", "the items"]
    return "".join(f"the {rng.choice(variants)} " for _ in range(room // 4))


def _reword(rng: random.Random, people: list[Profile], room: int) -> str:
    person = rng.choice(people)
    return "\n\n".join(analysis(rng, person) for _ in range(room // 400))


def _reword_all(rng: random.Random, people: list[Profile], room: int) -> str:
    rounds = range(room // 4000 + 1)
    return "\n\n".join(analysis(rng, person) for _ in rounds for person in people)


LOOPS = {
    "token": _token,
    "sentence": _sentence,
    "block": _block,
    "counter": _counter,
    "flip": _flip,
    "near": _near,
    "reword": _reword,
    "reword_all": _reword_all,
}
