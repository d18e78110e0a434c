//! What a call came to, for the tests of every platform.

use campanile_connect::platforms::Answer;
use campanile_model::publish::{Failure, Receipt};

pub(crate) fn published(answer: Answer) -> Receipt {
    match answer {
        Answer::Published(receipt) => receipt,
        other => panic!("not published: {other:?}"),
    }
}

pub(crate) fn refused(answer: Answer) -> Failure {
    match answer {
        Answer::Refused(failure) => failure,
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) fn unclear(answer: Answer) -> Failure {
    match answer {
        Answer::Unclear(failure) => failure,
        other => panic!("not unclear: {other:?}"),
    }
}
