//! `matchwire matches`: lists and corrects which providers' matches are the same.
//!
//! It stores orders; a running hub on the same database applies them, others when they start. It
//! only interprets the operator's arguments.

use std::io::{self, Write};

use facts::event::Id;

use crate::{
    cli::{MatchesArgs, MatchesCommand, MatchesJoinArgs, MatchesSplitArgs},
    config::AccountsConfig,
    table::{Format, Table, line},
};
use accounts::{Accounts, AccountsError, Micros};
use hub::identity::{
    self, DecidedRelation, Doubt, MatchMapping, MatchOrder,
    store::{BindingRow, IdentityStore, PendingOrder},
};
use record::ids::{IdsError, NUMBERS_MAX, PublicIds};

type Done = Result<(), MatchesCommandError>;

#[derive(Debug, thiserror::Error)]
pub enum MatchesCommandError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("the database failed")]
    IdentityStore(#[from] sqlx::Error),
    #[error("`{text}` is neither PROVIDER/KEY nor an id")]
    NoMatch { text: String },
    #[error("unknown match {id}: use PROVIDER/KEY instead")]
    UnknownMatch { id: Id },
    #[error("both are matches of {provider}, which lists each match only once")]
    OneProvider { provider: String },
    #[error("both are already match {id}")]
    OneMatch { id: Id },
    #[error(transparent)]
    Ids(#[from] IdsError),
    #[error("all public ids are in use")]
    NoId,
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the database cannot be used, if the arguments do not identify matches, or if the output
/// cannot be written.
pub async fn run(
    command: MatchesCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let (MatchesCommand::List(MatchesArgs { db, .. })
    | MatchesCommand::Doubtful(MatchesArgs { db, .. })
    | MatchesCommand::Join(MatchesJoinArgs { db, .. })
    | MatchesCommand::Split(MatchesSplitArgs { db, .. })) = &command;
    let accounts = Accounts::open_existing(db, config).await?;
    let store = IdentityStore::new(accounts.database());
    let done = match command {
        MatchesCommand::List(args) => list(&store, args.output.format(), out).await,
        MatchesCommand::Doubtful(args) => doubtful(&store, args.output.format(), out).await,
        MatchesCommand::Join(args) => {
            let ids = PublicIds::open(accounts.database(), usize::MAX).await?;
            join((&store, &ids), args, now, out).await
        }
        MatchesCommand::Split(args) => split(&store, args, now, out).await,
    };
    accounts.close().await;
    done
}

async fn list(store: &IdentityStore, format: Format, out: &mut impl Write) -> Done {
    let bindings = store.bindings().await?;
    let columns =
        ["id", "match", "sides", "start", "competition", "swapped", "found_by", "found_to_be"];
    let mut table = Table::new(out, format, columns)?;
    for BindingRow { description, mapping, by, with } in bindings {
        table.row([
            Some(&mapping.id.to_string()),
            Some(&name(&description.provider, &description.key)),
            Some(&description.sides),
            Some(&description.start),
            Some(&description.competition),
            swapped(mapping.swapped),
            Some(&by),
            with.map(|(provider, key)| name(&provider, &key)).as_deref(),
        ])?;
    }
    Ok(print_orders(&store.unfollowed().await?, format, out)?)
}

/// Prints the orders as a table of their own; nothing if there are none.
fn print_orders(orders: &[PendingOrder], format: Format, out: &mut impl Write) -> io::Result<()> {
    if orders.is_empty() {
        return Ok(());
    }
    let columns = ["order", "kind", "match", "into", "swapped", "state"];
    let mut table = Table::new(out, format, columns)?;
    for PendingOrder { numbered, refused } in orders {
        let (kind, provider, key, into, turned) = match &numbered.order {
            MatchOrder::Join { provider, key, into, swapped: turned, with: _ } => {
                ("join", provider, key, Some(into.to_string()), *turned)
            }
            MatchOrder::Split { provider, key } => ("split", provider, key, None, false),
            MatchOrder::Competitions(order) => {
                let kind = order.relation.map_or("undo", DecidedRelation::as_str);
                let into = name(&order.other.provider, &order.other.name);
                (kind, &order.one.provider, &order.one.name, Some(into), false)
            }
        };
        let state =
            refused.as_ref().map_or_else(|| "waits".to_owned(), |why| format!("refused: {why}"));
        table.row([
            Some(&numbered.number.to_string()),
            Some(kind),
            Some(&name(provider, key)),
            into.as_deref(),
            swapped(turned),
            Some(&state),
        ])?;
    }
    Ok(())
}

async fn doubtful(store: &IdentityStore, format: Format, out: &mut impl Write) -> Done {
    let doubts = store.doubts().await?;
    let columns = [
        "score",
        "reason",
        "swapped",
        "a",
        "a_sides",
        "a_start",
        "a_competition",
        "b",
        "b_sides",
        "b_start",
        "b_competition",
    ];
    let mut table = Table::new(out, format, columns)?;
    for Doubt { one, other, swapped: turned, score, why } in doubts {
        table.row([
            Some(&format!("{score:.2}")),
            Some(&why),
            swapped(turned),
            Some(&name(&one.provider, &one.key)),
            Some(&one.sides),
            Some(&one.start),
            Some(&one.competition),
            Some(&name(&other.provider, &other.key)),
            Some(&other.sides),
            Some(&other.start),
            Some(&other.competition),
        ])?;
    }
    Ok(())
}

async fn join(
    (store, ids): (&IdentityStore, &PublicIds),
    args: MatchesJoinArgs,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let (provider, key) = match MatchRef::read(&args.one)? {
        MatchRef::Key(provider, key) => (provider, key),
        MatchRef::Id(id) => {
            store.key_of(id).await?.ok_or(MatchesCommandError::UnknownMatch { id })?
        }
    };
    let id = ids.number(identity::local_id(&provider, &key)).ok_or(MatchesCommandError::NoId)?;
    let (other, with) = match MatchRef::read(&args.other)? {
        MatchRef::Key(other, _) if other == provider => {
            return Err(MatchesCommandError::OneProvider { provider });
        }
        MatchRef::Key(other, key) => {
            let id =
                ids.number(identity::local_id(&other, &key)).ok_or(MatchesCommandError::NoId)?;
            (id, Some((other, key)))
        }
        MatchRef::Id(id) => (id, None),
    };
    ids.flush().await?;
    let MatchMapping { id: into, swapped } = mapping(store, other).await?;
    if into == mapping(store, id).await?.id {
        return Err(MatchesCommandError::OneMatch { id: into });
    }
    let doubt = store.doubts().await?.into_iter().find(|doubt| doubt.is_of(id, other));
    let turned = args.swapped || doubt.is_some_and(|doubt| doubt.swapped);
    let order = MatchOrder::Join { provider, key, into, swapped: turned ^ swapped, with };
    write(store, &order, now, out).await
}

async fn split(
    store: &IdentityStore,
    MatchesSplitArgs { db: _, provider, key }: MatchesSplitArgs,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    write(store, &MatchOrder::Split { provider, key }, now, out).await
}

async fn write(
    store: &IdentityStore,
    order_request: &MatchOrder,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let number = format!("order {}", store.order(order_request, now).await?);
    match order_request {
        MatchOrder::Join { provider, key, into, swapped: turned, with: _ } => {
            let (name, into) = (name(provider, key), into.to_string());
            line(out, &[&number, "join", &name, &into, swapped(*turned).unwrap_or_default()])?;
        }
        MatchOrder::Split { provider, key } => {
            line(out, &[&number, "split", &name(provider, key)])?
        }
        // Ordered on the page of an operator alone.
        MatchOrder::Competitions(_) => line(out, &[&number])?,
    }
    Ok(())
}

async fn mapping(store: &IdentityStore, id: Id) -> sqlx::Result<MatchMapping> {
    Ok(store.mapping(id).await?.unwrap_or(MatchMapping { id, swapped: false }))
}

/// An operator's reference to a match.
enum MatchRef {
    Key(String, String),
    Id(Id),
}

impl MatchRef {
    /// Providers have no slash in their names; keys may.
    fn read(text: &str) -> Result<Self, MatchesCommandError> {
        match text.split_once('/') {
            Some((provider, key)) if !provider.is_empty() && !key.is_empty() => {
                Ok(Self::Key(provider.to_owned(), key.to_owned()))
            }
            Some(_) => Err(MatchesCommandError::NoMatch { text: text.to_owned() }),
            // Ids have 31 bits.
            None => match text.parse() {
                Ok(id) if id <= u64::from(NUMBERS_MAX) => Ok(Self::Id(Id(id))),
                _ => Err(MatchesCommandError::NoMatch { text: text.to_owned() }),
            },
        }
    }
}

fn swapped(swapped: bool) -> Option<&'static str> {
    swapped.then_some("swapped")
}

fn name(provider: &str, key: &str) -> String {
    format!("{provider}/{key}")
}

#[cfg(test)]
mod tests;
