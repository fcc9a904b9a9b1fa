//! For a probe whose connection broke before an answer, tries a fresh one.

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Next, Result};

use crate::usual_errors::{Loss, loss_of};

/// How many connections of a pool may turn out to be broken within one probe.
pub(super) const FRESH_CONNECTIONS: u32 = 8;

/// Sends the request, and up to `fresh` times again if its connection broke before an answer, and the request may be
/// sent twice or was refused unprocessed.
pub(super) async fn sent(
    request: Request,
    extensions: &mut Extensions,
    next: Next<'_>,
    mut fresh: u32,
) -> Result<Response> {
    let again = |request: &Request| request.try_clone().filter(|_| fresh > 0);
    let mut again = again(&request);
    let mut result = next.clone().run(request, extensions).await;
    while let (Err(error), Some(request)) = (&result, again.take()) {
        let is_worth_it = match loss_of(error) {
            None => false,
            Some(Loss::Unprocessed) => true,
            Some(Loss::Unanswered) => request.method().is_idempotent(),
        };
        if !is_worth_it {
            break;
        }
        fresh -= 1;
        again = request.try_clone().filter(|_| fresh > 0);
        result = next.clone().run(request, extensions).await;
    }
    result
}
