//! Which instance this is, unless it was named.

use crate::InstanceId;

/// How many instances on one machine can be told apart.
const MOST: u32 = 1_024;

/// The id of an instance, and what keeps others on this machine from having the same.
pub(super) struct Identity {
    pub(super) id: InstanceId,
    _held: Option<held::Number>,
}

impl Identity {
    pub(super) fn named(id: InstanceId) -> Self {
        Self { id, _held: None }
    }

    /// The machine, and the lowest number that no living instance on it has: a process that is started again gets that
    /// of its predecessor. Random where this cannot be told.
    pub(super) fn of_this_machine() -> Self {
        let held = held::machine().and_then(|machine| {
            let (number, held) = held::lowest(MOST)?;
            let id = InstanceId::named(&format!("{machine}#{number}"));
            Some((id, held))
        });
        match held {
            Some((id, held)) => Self {
                id,
                _held: Some(held),
            },
            None => Self::named(InstanceId::random()),
        }
    }
}

#[cfg(target_os = "linux")]
mod held {
    use std::fs::read_to_string;
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    /// A socket with an abstract name: it is in no file system, and the kernel frees it when its process ends, in
    /// whatever way.
    pub(super) type Number = UnixDatagram;

    /// The host name, of which each container has its own, and the id of the installation.
    pub(super) fn machine() -> Option<String> {
        let read = |path| read_to_string(path).unwrap_or_default().trim().to_owned();
        let host = read("/proc/sys/kernel/hostname");
        let installation = read("/etc/machine-id");
        (!host.is_empty() || !installation.is_empty()).then(|| format!("{host}/{installation}"))
    }

    pub(super) fn lowest(most: u32) -> Option<(u32, Number)> {
        for number in 0..most {
            let name = format!("atomic-breaker/fleet/{number}");
            let address = SocketAddr::from_abstract_name(name).ok()?;
            match UnixDatagram::bind_addr(&address) {
                Ok(held) => return Some((number, held)),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(_) => return None,
            }
        }
        None
    }
}

#[cfg(not(target_os = "linux"))]
mod held {
    pub(super) type Number = ();

    pub(super) fn machine() -> Option<String> {
        None
    }

    pub(super) fn lowest(_: u32) -> Option<(u32, Number)> {
        None
    }
}
