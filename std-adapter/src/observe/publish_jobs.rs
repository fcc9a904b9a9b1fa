//! How the metrics of jobs reach the recorder.

use metrics::{Recorder, SharedString};

use super::job_meter::{ENDS, JobMeter, STANDS};
use super::series::{self, Series};
use crate::steps::{Asked, Tried};
use crate::words::printable;

fn shown(name: &'static str) -> SharedString {
    printable(name).into()
}

pub(super) fn publish(recorder: &dyn Recorder, meter: &JobMeter) {
    let series = Series {
        recorder,
        meter: &meter.name,
    };
    let counted = meter.read();
    for ((kind, lane), tries) in &counted.tries {
        for (how, total) in Tried::ALL.into_iter().zip(tries) {
            let labels = [
                (series::KIND, shown(kind)),
                (series::LANE, shown(lane)),
                (series::OUTCOME, how.name().into()),
            ];
            series.counter(series::JOB_TRIES, labels, *total);
        }
    }
    for ((kind, lane), total) in &counted.lost {
        let labels = [(series::KIND, shown(kind)), (series::LANE, shown(lane))];
        series.counter(series::JOB_LOST, labels, *total);
    }
    for (kind, ends) in &counted.ended {
        for (status, total) in ENDS.into_iter().zip(ends) {
            let labels = [
                (series::KIND, shown(kind)),
                (series::STATUS, status.name().into()),
            ];
            series.counter(series::JOB_ENDED, labels, *total);
        }
    }
    for (kind, told) in &counted.told {
        for (outcome, total) in ["success", "failure"].into_iter().zip(told) {
            let labels = [
                (series::KIND, shown(kind)),
                (series::OUTCOME, outcome.into()),
            ];
            series.counter(series::JOB_TOLD, labels, *total);
        }
    }
    for (asked, total) in Asked::ALL.into_iter().zip(counted.store_errors) {
        let labels = [(series::OPERATION, asked.name().into())];
        series.counter(series::JOB_STORE_ERRORS, labels, total);
    }
    let Some((lanes, oldest)) = counted.jobs() else {
        return;
    };
    for (lane, stands) in lanes {
        for (status, count) in STANDS.into_iter().zip(stands) {
            let labels = [(series::LANE, shown(lane)), (series::STATUS, status.into())];
            series.measure(series::JOBS, labels, count);
        }
    }
    series.measure(series::JOB_OLDEST_DUE, [], oldest);
}
