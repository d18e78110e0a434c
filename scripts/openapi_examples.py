"""usage: openapi_examples.py FILE
Checks that every example in an OpenAPI document is one that its schema admits, and that no
body is without one. The validator of the document itself does not look at them."""

import json
import sys

from jsonschema import Draft202012Validator, FormatChecker


def bodies(document):
    """Yields a name and the media type object of every request and answer."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            for media in operation.get("requestBody", {}).get("content", {}).values():
                yield f"{name}, request", media
            for status, answer in operation["responses"].items():
                for media in answer.get("content", {}).values():
                    yield f"{name}, {status}", media
    for name, answer in document["components"].get("responses", {}).items():
        for media in answer.get("content", {}).values():
            yield name, media


def faults(document):
    for name, media in bodies(document):
        if "example" not in media:
            yield f"{name}: no example"
            continue
        # References start at the document's root, so the schema takes its components along.
        schema = {**media["schema"], "components": document["components"]}
        validator = Draft202012Validator(schema, format_checker=FormatChecker())
        for error in validator.iter_errors(media["example"]):
            yield f"{name}: {error.json_path}: {error.message[:200]}"


with open(sys.argv[1], encoding="utf-8") as file:
    found = list(faults(json.load(file)))
for fault in found:
    print(fault, file=sys.stderr)
sys.exit(1 if found else 0)
