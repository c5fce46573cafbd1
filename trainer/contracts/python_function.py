"""A user's own function, named in a spec as `python: module:function`.

The spec is only text: the server validates and stores it, and the processes of the run alone import what it names.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from trainer.contracts.text_model import TextModel, refuse_deep


def name_or_function(value: object) -> str:
    """Which side of `name | PythonFunction` a value is meant for, so that an error speaks of that side alone."""
    return "function" if isinstance(value, dict | PythonFunction) else "name"


class PythonFunction(TextModel):
    """A function of the user's, imported by the processes of the run."""

    python: Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")]
    """`module:function`. The module must be importable where the run's processes are, e.g. by PYTHONPATH."""
    arguments: Annotated[dict[str, JsonValue], AfterValidator(refuse_deep)] = {}
    """What the function gets by keyword beside its data."""

    def load(self, field: str) -> Callable[..., Any]:
        """Import it. `field` is where the spec names it, for the error.

        Raises:
            ValueError: there is no such module or function, or the module fails while it is imported.
        """
        module_name, _, name = self.python.partition(":")
        try:
            module = importlib.import_module(module_name)
        # User code: whatever it raises, the reader of the error shall learn which field led there.
        except Exception as error:
            raise ValueError(
                f"{field} is python: {self.python}, but importing {module_name} failed with {error!r}; the module "
                "must be importable by the processes of the run, e.g. by a PYTHONPATH that holds its directory"
            ) from error
        function = getattr(module, name, None)
        if not callable(function):
            raise ValueError(f"{field} is python: {self.python}, but {module_name} has no function {name}")
        return function  # type: ignore[no-any-return]
