"""What schemathesis does not know about our API."""

import os

import schemathesis
from schemathesis import GenerationMode

# A route of a later version says 501, and an import tells what the other side did.
ANNOUNCED = {"501", "502", "504"}

BRAND = os.environ["CAMPANILE_CHECK_BRAND"]
POSTS = os.environ["CAMPANILE_CHECK_POSTS"].split()


@schemathesis.check
def no_unannounced_server_error(ctx, response, case):
    """A status from 500 on is a fault, unless the operation documents it as an answer."""
    status = str(response.status_code)
    if response.status_code < 500:
        return
    documented = case.operation.definition.raw.get("responses", {})
    if status not in ANNOUNCED or status not in documented:
        raise AssertionError(f"{status} is not an answer that {case.operation.label} announces")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Names things that exist: with ids made up, every answer would be 404 for the brand or
    the post, and nothing behind them would be looked at. What is wrong on purpose stays."""
    wrong = {
        str(place): info.mode == GenerationMode.NEGATIVE
        for place, info in (case.meta.components.items() if case.meta else ())
    }
    if case.headers and not wrong.get("header"):
        if "x-app-brand-id" in case.headers:
            case.headers["x-app-brand-id"] = BRAND
        if "if-match" in case.headers:
            case.headers["if-match"] = "*"
    if case.query and not wrong.get("query"):
        case.query.pop("cursor", None)
    # Deleting is left to the stateful phase, which knows what it has made.
    named = case.operation.path == "/posts/{id}" and case.method != "DELETE"
    if named and case.path_parameters and not wrong.get("path"):
        if case.path_parameters.get("id") not in POSTS:
            choice = hash_of(str(case.path_parameters["id"])) % len(POSTS)
            case.path_parameters["id"] = POSTS[choice]


def hash_of(text):
    """The same in every run, unlike the hash of Python."""
    return sum(text.encode("utf-8", "replace"))
