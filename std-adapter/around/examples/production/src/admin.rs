// SPDX-License-Identifier: MIT OR Apache-2.0
//! The admin page, for those who know the password, and readiness.

use atomic_breaker_admin::{Admin, AdminError, Operator, Readiness, Timeline};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header::WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn_with_state};
use axum::{Router, response::IntoResponse};
use axum_extra::TypedHeader;
use axum_extra::headers::{Authorization, authorization::Basic};
use subtle::ConstantTimeEq;

use crate::guard::Guard;

/// Any name, which the timeline then shows, with the one password. Behind TLS only.
pub fn page(guard: &'static Guard, of: &Timeline, password: String) -> Result<Router, AdminError> {
    let page = Admin::new(of)
        .title("prices")
        .registry("hosts", guard.hosts());
    Ok(page
        .router()?
        .layer(from_fn_with_state(password, authenticate)))
}

/// For the orchestrator, which has no password. No host is vital: prices that are known are served without any.
pub fn readiness(guard: &'static Guard) -> Result<Router, AdminError> {
    Readiness::new().registry("hosts", guard.hosts()).router()
}

async fn authenticate(
    State(password): State<String>,
    login: Option<TypedHeader<Authorization<Basic>>>,
    mut request: Request,
    next: Next,
) -> impl IntoResponse {
    match login {
        Some(login)
            if login
                .password()
                .as_bytes()
                .ct_eq(password.as_bytes())
                .into() =>
        {
            let operator = Operator::new(login.username());
            request.extensions_mut().insert(operator);
            Ok(next.run(request).await)
        }
        _ => Err((
            StatusCode::UNAUTHORIZED,
            [(WWW_AUTHENTICATE, "Basic realm=\"breakers\"")],
        )),
    }
}
