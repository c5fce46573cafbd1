"""The base of everything that crosses a text edge (YAML, JSON, HTTP, database JSON)."""

from pydantic import BaseModel, ConfigDict


class TextModel(BaseModel):
    """A frozen record that refuses unknown fields, so that a typing error in a file is told, not ignored."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        # A spec says `nan` or `inf` only by mistake; measured values travel as `Metric`, which can hold them.
        allow_inf_nan=False,
        # Docstrings under fields become the descriptions in the OpenAPI document and the JSON schema.
        use_attribute_docstrings=True,
    )
