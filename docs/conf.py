"""Settings of the documentation: run ``make docs`` in the folder above."""

import re
import sys
from pathlib import Path
from typing import Any

import steelyard

project = "Steelyard"
author = "The Steelyard developers"
copyright = "The Steelyard developers"
release = steelyard.__version__
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

copybutton_prompt_text = r"\$ |>>> |\.\.\. |> "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
# Say Floats, not ndarray[tuple[Any, ...], dtype[float64]]: api.md explains the names.
_ALIASES = "ArrayLike Cells Codes Floats Frame Index Kind Progress Rng Source Texts"
autodoc_type_aliases = {name: name for name in _ALIASES.split()}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["drawn.css"]
html_title = f"Steelyard {release}"
html_show_sphinx = False
html_copy_source = False


#: Defaults and types that Python prints in a way that Sphinx can't read.
_UNREADABLE = {
    r"TypeAliasForwardRef\('(\w+)'\)": r"\1",
    r"=\s*<factory>": "= {}",
    r"=\s*<function .*?<lambda>>": "= ...",
    r"~?(?:numpy\.)?ndarray\[tuple\[\S*Any, \.\.\.\], \S*dtype\[[^]]*\]\]": "NDArray",
}


def readable_signature(*event: Any) -> tuple[str | None, str | None]:
    """Rewrite what a signature shows of defaults and arrays."""
    *_, arguments, returned = event
    for pattern, plain in _UNREADABLE.items():
        arguments = arguments and re.sub(pattern, plain, arguments)
        returned = returned and re.sub(pattern, plain, returned)
    return arguments, returned


def without_field_aliases(*event: Any) -> bool | None:
    """Leave out the fields of named tuples, of which Python says "Alias for field number 0"."""
    member = event[3]
    return True if type(member).__name__ == "_tuplegetter" else None


def public_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Lead the module's name of a public thing to its page: api.md lists public names alone."""
    name = node.get("reftarget", "").rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in steelyard._HOME:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], f"steelyard.{name}", node, contnode
    )


def setup(app: Any) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    import reference

    reference.write()
    app.connect("autodoc-process-signature", readable_signature)
    app.connect("autodoc-skip-member", without_field_aliases)
    app.connect("missing-reference", public_name)
