//! What the settings of the program are for each of its parts.

use std::{path::PathBuf, sync::Arc, thread};

use base::{config::micros, disk::Folder, process::OpenFiles, work::Work};
use database::DatabaseName;
use tracing::warn;

use super::log_files;
use crate::config::{Config, FanoutConfig, ServerConfig, TlsConfig};
use fanout::{Limits, socket::SocketOptions};
use hub::{HubSettings, push::PushDeadlines, quarantine, sequence::TailWindow};
use web::http::{
    ConnectionLimits, Proxies,
    tls::{
        Certificate, CurrentCertificate, TlsError,
        acme::{AcmeClient, AcmeError},
    },
};

/// What obtains the certificate of the settings, if one is to be obtained.
pub(super) fn acme(config: &Config) -> Result<Option<AcmeClient>, AcmeError> {
    if config.acme.names().next().is_none() {
        return Ok(None);
    }
    AcmeClient::new(&config.acme, acme_folder(config)).map(Some)
}

/// Where the certificates of an authority are stored.
pub(super) fn acme_folder(config: &Config) -> PathBuf {
    if !config.acme.folder.as_os_str().is_empty() {
        return config.acme.folder.clone();
    }
    config.beside("-acme")
}

/// The trusted proxies.
pub(super) fn proxies(config: &Config) -> Proxies {
    let checked = "the settings were checked";
    Proxies {
        header: config.server.forwarded_header_name().expect(checked),
        trusted: config.server.proxies().expect(checked),
    }
}

/// The deadlines of sources that push.
pub(super) fn push_deadlines(config: &Config) -> PushDeadlines {
    let deadline = |ms: u64| (ms > 0).then(|| micros(ms));
    PushDeadlines {
        in_play_us: deadline(config.ingest.deadline_ms),
        prices_us: deadline(config.ingest.prices_deadline_ms),
    }
}

/// The certificate of the settings; `None` without TLS.
pub(super) fn certificate(config: &TlsConfig) -> Result<Option<Arc<CurrentCertificate>>, TlsError> {
    if config.certificate.as_os_str().is_empty() {
        return Ok(None);
    }
    let certificate = Certificate::read(&config.certificate, &config.key)?;
    Ok(Some(Arc::new(CurrentCertificate::new(Some(certificate)))))
}

pub(super) fn settings(config: &Config) -> HubSettings {
    HubSettings {
        window: TailWindow { bytes: config.hub.tail_bytes, age_us: micros(config.hub.tail_ms) },
        matches_max: config.hub.matches_max,
        matches_max_per_source: config.hub.matches_max_per_source,
        ended_keep_us: micros(config.hub.ended_keep_ms),
        stale_after_ms: milliseconds(config.feeds.stale_after_ms),
        hold_us: micros(config.feeds.hold_ms),
    }
}

pub(super) fn quarantine_limits(config: &Config) -> quarantine::QuarantineLimits {
    quarantine::QuarantineLimits {
        bytes_max: config.feeds.quarantine_bytes_max as u64,
        age_max_us: micros(config.feeds.quarantine_age_ms),
    }
}

pub(super) fn limits(config: &Config, work: Work) -> Limits {
    let FanoutConfig { shards, .. } = config.fanout;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Limits {
        shards: if shards == 0 { cores } else { shards },
        outbox_bytes: config.fanout.outbox_bytes,
        outbox_age_ms: milliseconds(config.fanout.outbox_age_ms),
        write_bytes_max: config.fanout.write_bytes_max,
        channels_max: config.fanout.channels_max,
        channels_max_per_payer: config.fanout.channels_max_per_account,
        patterns_max: config.fanout.patterns_max,
        from_bytes_max: config.fanout.from_bytes_max,
        catch_up_burst: config.fanout.catch_up_burst,
        catch_ups_per_second: config.fanout.catch_ups_per_second,
        work,
        command_bytes_max: config.server.command_bytes_max,
        command_fragments_max: config.server.command_fragments_max,
        mailbox_max: config.fanout.mailbox,
        beat_ms: milliseconds(config.fanout.beat_ms),
        idle_ms: milliseconds(config.fanout.idle_ms),
        stall_ms: milliseconds(config.fanout.stall_ms),
        sockets: socket_options(&config.fanout),
    }
}

pub(super) fn socket_options(config: &FanoutConfig) -> SocketOptions {
    SocketOptions {
        send_buffer_bytes: config.send_buffer_bytes,
        unsent_bytes: u32::try_from(config.unsent_bytes).unwrap_or(u32::MAX),
    }
}

/// The folders whose disks are watched.
pub(super) fn folders(config: &Config) -> Vec<(Folder, PathBuf)> {
    let mut folders = vec![(Folder::Log, log_files::folder(config))];
    if let DatabaseName::File(path) = &config.server.db {
        folders.push((Folder::Database, path.clone()));
    }
    folders
}

/// The limits on HTTP connections, as far as the process may have as many files open.
pub(super) fn connection_limits(server: &ServerConfig, files: OpenFiles) -> ConnectionLimits {
    let configured = ConnectionLimits::from_config(server);
    let connections_max = files.http_connections(configured.connections_max);
    if connections_max < configured.connections_max {
        warn!(
            connections_max,
            "server.connections_max is more than the process may have open: raise its limit of open files"
        );
    }
    ConnectionLimits { connections_max, ..configured }
}

pub(super) fn milliseconds(ms: u64) -> u32 {
    u32::try_from(ms).unwrap_or(u32::MAX)
}
