"""What schemathesis does not know about our API."""

import schemathesis

# A route of a later version says 501, and an import tells what the other side did.
ANNOUNCED = {"501", "502", "504"}


@schemathesis.check
def no_unannounced_server_error(ctx, response, case):
    """A status from 500 on is a fault, unless the operation documents it as an answer."""
    status = str(response.status_code)
    if response.status_code < 500:
        return
    documented = case.operation.definition.raw.get("responses", {})
    if status not in ANNOUNCED or status not in documented:
        raise AssertionError(f"{status} is not an answer that {case.operation.label} announces")
