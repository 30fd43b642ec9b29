"""Colours of all plots: Okabe and Ito's, told apart by colour-blind readers, and three greys."""

from __future__ import annotations

GREY, DARK, SOFT = "#8c8c8c", "#222222", "#e4e4e4"
LEADER = "#0072B2"
