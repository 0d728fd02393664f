"""Colors for any number of classes, evenly spaced on a perceptually uniform color wheel.

Classes that are neighbors in sorted order are neighbors on the wheel, so classes with a common
prefix (`scipy.io`, `scipy.signal`) have similar hues. Their lightness alternates, so that they can
still be distinguished.
"""

import math

# Oklab lightness of three successive neighbors
_LIGHTNESS_ON_WHITE = (0.50, 0.68, 0.59)
_LIGHTNESS_ON_BLACK = (0.66, 0.82, 0.74)
_CHROMA = 0.17
_FIRST_HUE_DEGREES = 25.0  # a warm red


def palette(n_colors: int, on_black: bool = False) -> list[str]:
    """Return colors as #rrggbb for a white background, or for a black one.

    Examples
    --------
    >>> palette(2)
    ['#b02a2d', '#01acba']
    """
    levels = _LIGHTNESS_ON_BLACK if on_black else _LIGHTNESS_ON_WHITE
    hues = [_FIRST_HUE_DEGREES + 360.0 * k / n_colors for k in range(n_colors)]
    return [oklch(levels[k % 3], _CHROMA, hue) for k, hue in enumerate(hues)]


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """Return a color of the Oklab color space by Björn Ottosson as #rrggbb.

    The chroma is reduced until screens can show the color. Lightness and hue never change.
    """
    while True:
        channels = _linear_rgb(lightness, chroma, math.radians(hue))
        if chroma <= 0 or all(-1e-4 <= value <= 1 + 1e-4 for value in channels):
            return "#" + "".join(f"{round(255 * _gamma(value)):02x}" for value in channels)
        chroma -= 0.002


def _linear_rgb(lightness: float, chroma: float, angle: float) -> tuple[float, float, float]:
    a = chroma * math.cos(angle)
    b = chroma * math.sin(angle)
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
