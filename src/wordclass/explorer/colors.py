"""Colors for any number of classes, evenly spaced on a wheel that looks even to the eye.

Classes in sorted order lie next to each other on the wheel, so those of one package (`scipy.io`,
`scipy.signal`) share a range of hues; lightness alternates, so that neighbors differ all the same.
"""

import math

# lightness of the first, second and third of three neighbors, in Oklab
_ON_WHITE = (0.50, 0.68, 0.59)
_ON_BLACK = (0.66, 0.82, 0.74)
_CHROMA = 0.17
_FIRST_HUE = 25.0  # degrees; a warm red


def palette(n_colors: int, on_black: bool = False) -> list[str]:
    """Return colors as #rrggbb, to be seen on a white background, or on a black one.

    Examples
    --------
    >>> palette(2)
    ['#b02a2d', '#01acba']
    """
    levels = _ON_BLACK if on_black else _ON_WHITE
    return [
        oklch(levels[k % 3], _CHROMA, _FIRST_HUE + 360.0 * k / n_colors) for k in range(n_colors)
    ]


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """Return a color of Björn Ottosson's Oklab as #rrggbb.

    A color that screens cannot show gives up chroma, never lightness or hue.
    """
    while True:
        channels = _linear_rgb(lightness, chroma, math.radians(hue))
        if chroma <= 0 or all(-1e-4 <= value <= 1 + 1e-4 for value in channels):
            return "#" + "".join(f"{round(255 * _gamma(value)):02x}" for value in channels)
        chroma -= 0.002


def _linear_rgb(lightness: float, chroma: float, angle: float) -> tuple[float, float, float]:
    a, b = chroma * math.cos(angle), chroma * math.sin(angle)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _gamma(value: float) -> float:
    clipped = min(max(value, 0.0), 1.0)
    return 12.92 * clipped if clipped <= 0.0031308 else 1.055 * clipped ** (1 / 2.4) - 0.055
