"""Published figures and tables, computed again: what a plugin declares, and how it is written."""

from sfumato.figures.curve import Curve
from sfumato.figures.drawing import Drawing
from sfumato.figures.figure import Figure
from sfumato.figures.matrix_panel import MatrixPanel
from sfumato.figures.panel import Panel
from sfumato.figures.request import FigureRequest

__all__ = ["Curve", "Drawing", "Figure", "FigureRequest", "MatrixPanel", "Panel"]
