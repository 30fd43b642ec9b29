"""The newest night against the frozen baseline and against last night, told apart."""

from __future__ import annotations

from collections.abc import Mapping

from evalstab.chat import Json

BASELINE = "baseline"
LAST = "last night"


def drift_of(found: Json) -> Json:
    """What a comparison says of drift, in few keys: stability, consensus, scale, not_worse.

    ``stability`` is more, less, not shown or too few trials; ``consensus`` and ``scale`` are moved,
    not shown or too few trials; ``not_worse`` is yes, no or undecided. ``worse`` is whether it was
    shown to be less stable, ``drifted`` whether anything was shown at all.
    """
    stability = found["stability"]
    word = stability["answer"]
    if word == "yes":
        word = "less" if (stability["difference"] or 0) < 0 else "more"
    moved = {
        key: "moved" if found[key]["answer"] == "yes" else found[key]["answer"]
        for key in ("consensus", "scale")
    }
    changed = [c["key"] for c in found["criteria"] if c["answer"] == "yes"]
    worse = word == "less" or found["not_worse"]["answer"] == "no"
    return {
        "stability": word,
        **moved,
        "changed": changed,
        "not_worse": found["not_worse"]["answer"],
        "difference": stability["difference"],
        "drifted": worse or word == "more" or "moved" in moved.values() or bool(changed),
        "worse": worse,
        "warnings": list(found["warnings"]),
        "base": found["base"]["id"],
    }


def told_apart(drifts: Mapping[str, Json | None]) -> str:
    """One sentence: did it come overnight, or did it creep away from the baseline?"""
    base, last = drifts.get(BASELINE), drifts.get(LAST)
    if base is None and last is None:
        return "Nothing to compare with yet."
    if base is None or last is None:
        known, name = (base, BASELINE) if base is not None else (last, LAST)
        assert known is not None
        missing = (
            "no earlier night" if last is None else "no baseline is set (evalstab baseline set DIR)"
        )
        return f"Against the {name}: {what(known)}; {missing}."
    if base["drifted"] and last["drifted"]:
        return f"Since last night ({what(last)}), and away from the baseline ({what(base)})."
    if base["drifted"]:
        return (
            f"Away from the baseline ({what(base)}), although no change since last night was "
            "shown: slow drift, or a step of an earlier night."
        )
    if last["drifted"]:
        return f"Since last night ({what(last)}), but no change from the baseline was shown."
    return "No drift was shown, neither from the baseline nor since last night."


def what(drift: Json) -> str:
    """What a comparison showed, in a few words."""
    said = []
    if drift["stability"] in ("more", "less"):
        said.append(f"{drift['stability']} stable")
    if drift["consensus"] == "moved":
        said.append("consensus moved")
    if drift["scale"] == "moved":
        said.append("scale moved")
    said += [f"{key} changed" for key in drift["changed"]]
    if drift["not_worse"] == "no" and "less stable" not in said:
        said.append("worse by more than 0.10 of tau")
    if not said and "too few trials" in (drift["stability"], drift["consensus"]):
        return "too few trials to show a change"
    return ", ".join(said) or "no change shown"
