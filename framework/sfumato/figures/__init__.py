"""Published figures and tables, computed again: what a plugin declares, and how it is written."""

from sfumato.figures.figure import Curve, Drawing, Figure, FigureRequest, MatrixPanel, Panel

__all__ = ["Curve", "Drawing", "Figure", "FigureRequest", "MatrixPanel", "Panel"]
