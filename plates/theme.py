"""One colour a meaning, in light and in dark: the palettes that the page, the figures and the widgets share."""

from __future__ import annotations

# Chinese characters come from the first family that has them; Latin letters keep the families before it.
_SERIF_CJK = '"Noto Serif CJK SC","Songti SC",SimSun'
_SANS_CJK = '"Noto Sans CJK SC","PingFang SC","Microsoft YaHei"'
SERIF = f'"Source Serif 4","Iowan Old Style",Palatino,Georgia,"DejaVu Serif",{_SERIF_CJK},serif'
SANS = f'"Source Sans 3","Segoe UI",system-ui,"Noto Sans",{_SANS_CJK},sans-serif'

# Role -> colour. `standard` is the attention that writes S and P, `flash` the one that does not,
# `tiled` and `algorithm-1` the two ways to cut it into tiles (`plates.roles` says which model has which role),
# `chip` what stays on the chip, `hbm` what lives off it, `over` what exceeds the budget.
# `rule` divides; `edge` bounds what can be pressed, typed into or dragged, and reaches 3:1.
# Text colours reach 4.5:1 on `paper` and `panel` in both themes (tests/plates/test_theme.py).
PALETTES: dict[str, dict[str, str]] = {
    "light": {
        "paper": "#fbf8f1",
        "panel": "#f4efe4",
        "ink": "#1e2126",
        "muted": "#5d6470",
        "rule": "#d9d2c3",
        "edge": "#8a8374",
        "standard": "#b83a08",
        "flash": "#0b6499",
        "tiled": "#5a2ec4",
        "algorithm-1": "#552000",
        "chip": "#0d6f52",
        "hbm": "#5b616c",
        "over": "#a3195b",
        "grid": "#e9e3d6",
        "focus": "#0b6fa4",
    },
    "dark": {
        "paper": "#15171b",
        "panel": "#1c1f25",
        "ink": "#ece8df",
        "muted": "#a2a8b3",
        "rule": "#343840",
        "edge": "#6a707b",
        "standard": "#ff8a5c",
        "flash": "#5cb8ea",
        "tiled": "#9a86ff",
        "algorithm-1": "#e8d63c",
        "chip": "#4fcf9f",
        "hbm": "#9aa0ab",
        "over": "#ff7db5",
        "grid": "#272b32",
        "focus": "#5cb8ea",
    },
}


def css_variables() -> str:
    """Return the custom properties of both themes as CSS; the dark ones apply under ``[data-atlas=dark]``."""

    def block(selector: str, palette: dict[str, str], scheme: str) -> str:
        body = "".join(f"--{role}:{colour};" for role, colour in palette.items())
        return f"{selector}{{{body}--serif:{SERIF};--sans:{SANS};color-scheme:{scheme}}}"

    return block(":root", PALETTES["light"], "light") + block(
        ":root[data-atlas=dark]", PALETTES["dark"], "dark"
    )


def mui_theme(name: str) -> dict:
    """Return the Material UI theme of the widgets for ``name``, ``light`` or ``dark``."""
    p = PALETTES[name]
    return {
        "palette": {
            "primary": {"main": p["ink"], "contrastText": p["paper"]},
            "secondary": {"main": p["flash"]},
            "background": {"default": p["paper"], "paper": p["paper"]},
            "text": {"primary": p["ink"], "secondary": p["muted"]},
            "divider": p["rule"],
        },
        "typography": {
            "fontFamily": SANS,
            "fontSize": 14,
            "button": {"textTransform": "none", "fontWeight": 600},
        },
        "shape": {"borderRadius": 4},
        "components": {
            # labels of widgets, which no style of the widget itself reaches
            "MuiFormControlLabel": {"styleOverrides": {"label": {"fontSize": "var(--control-size, 14px)"}}},
            "MuiOutlinedInput": {"styleOverrides": {"root": {"fontSize": "var(--control-size, 14px)"}}},
            "MuiMenuItem": {"styleOverrides": {"root": {"fontSize": "var(--control-size, 14px)"}}},
            "MuiAppBar": {
                "styleOverrides": {
                    "root": {
                        "backgroundColor": p["paper"],
                        "backgroundImage": "none",
                        "color": p["ink"],
                        "boxShadow": "none",
                        "borderBottom": f"1px solid {p['rule']}",
                    }
                }
            },
        },
    }


# Material UI's page lives in a shadow root, which the page's own stylesheet does not reach.
PAGE_SX = {
    "& header .title": {
        "color": "var(--ink)",
        "font": "600 18px/1.1 var(--serif)",
        "letterSpacing": ".02em",
        "whiteSpace": "nowrap",
    },
    "& header .MuiToolbar-root": {
        "minHeight": "54px",
        "gap": {"xs": "0 16px", "md": "26px"},
        "flexWrap": {"xs": "wrap", "md": "nowrap"},
        "padding": {"xs": "10px 16px 0", "md": "0 24px 0 36px"},
    },
    "& header .MuiToolbar-root > div:last-child": {
        "minWidth": 0,
        "flexBasis": {"xs": "100%", "md": "auto"},
    },
    # the toolbar that keeps the content below the bar
    "& .main > div > .MuiToolbar-root": {"minHeight": {"xs": "106px", "md": "54px"}},
    "& .MuiLinearProgress-root": {"display": "none"},
    "& .main-content": {"paddingBottom": "var(--sheet-room, 0)", "scrollbarWidth": "thin"},
    "& header a:focus-visible": {"outline": "2px solid var(--focus)", "outlineOffset": "3px"},
}
