// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of connections, and their meaning for the host.

use super::crowd::{is_noticed, shuts_out_no_host};
use super::host::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn handshakes_that_fail_are_noticed() {
    is_noticed(Fault::Handshake).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_noticed() {
    is_noticed(Fault::Certificate).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_closed_without_notice_are_noticed() {
    is_noticed(Fault::NoNotify).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_cut_off_are_noticed() {
    is_noticed(Fault::Bodies).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_are_those_cut_off_with_notice() {
    is_noticed(Fault::NotifiedBodies).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_die_are_noticed_over_http_2() {
    is_noticed(Fault::Streams).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_are_those_that_die_under_bodies() {
    is_noticed(Fault::StreamedBodies).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_that_dies_under_forty_requests_shuts_out_no_host() {
    shuts_out_no_host(Fault::OneDies).await;
}
