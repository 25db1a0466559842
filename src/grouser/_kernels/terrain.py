"""Ground laws. x = (x, y); out = (height, ∂height/∂x, ∂height/∂y); a height of NaN means: the map ends before here."""

from grouser._kernels.law import law


@law
def plane(par, x, out, jac):
    """par = (height at the origin, slope along x, slope along y)."""
    out[0] = par[0] + par[1] * x[0] + par[2] * x[1]
    out[1] = par[1]
    out[2] = par[2]
