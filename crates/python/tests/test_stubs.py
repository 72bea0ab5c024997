"""The stubs say what the compiled module has, and everything public is documented and annotated."""

import ast
import inspect
import pathlib

import millstream
from millstream import _millstream


def test_stubs_are_those_of_the_module():
    path = pathlib.Path(_millstream.__file__).with_name("_millstream.pyi")
    stubs = {node.name: node for node in ast.parse(path.read_text()).body if hasattr(node, "name")}
    assert stubs.keys() == {name for name in dir(_millstream) if not name.startswith("__")}
    for name, node in stubs.items():
        real = getattr(_millstream, name)
        methods = [node] if isinstance(node, ast.FunctionDef) else [part for part in node.body if isinstance(part, ast.FunctionDef)]
        if isinstance(node, ast.ClassDef):
            said = {part.name for part in methods}
            said |= {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
            had = {name for name in vars(real) if not name.startswith("_")}
            assert had == {name for name in said if not name.startswith("_")} or issubclass(real, Exception), name
        for method in methods:
            # Python tells the parameters of constructors and of special methods of compiled classes by the class, or not at all.
            if method is not node and method.name.startswith("_"):
                continue
            function = real if method is node else getattr(real, method.name)
            parameters = [one for one in inspect.signature(function).parameters if one != "self"]
            arguments = method.args.posonlyargs + method.args.args + method.args.kwonlyargs
            assert parameters == [one.arg for one in arguments if one.arg != "self"], (name, method.name)


def test_everything_public_is_documented_and_annotated():
    for name in millstream.__all__:
        public = getattr(millstream, name)
        if not callable(public):
            continue
        assert inspect.getdoc(public), name
        if inspect.isfunction(public):
            signature = inspect.signature(public)
            assert signature.return_annotation is not inspect.Signature.empty, name
            assert all(one.annotation is not inspect.Parameter.empty for one in signature.parameters.values()), name
