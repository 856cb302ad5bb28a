//! `matchwire matches`: what the hub found to be one match, from the operator's terminal.
//!
//! It writes orders down; a running hub on the same database follows them, others when they start.
//! It decides nothing but what the operator's words mean.

use std::io::{self, Write};

use ingest::event::Id;

use crate::{
    accounts::{Accounts, AccountsError, Micros},
    cli::{MatchesArgs, MatchesCommand, MatchesJoinArgs, MatchesSplitArgs},
    config::AccountsConfig,
    identity::{
        self, Doubt, Order, Place, Told,
        store::{Listed, Store, Unfollowed},
    },
};

#[derive(Debug, thiserror::Error)]
pub enum MatchesCommandError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("the database failed")]
    Store(#[from] sqlx::Error),
    #[error("`{text}` is neither PROVIDER/KEY nor an id")]
    NoMatch { text: String },
    #[error("nothing is known of the match {id}: name it by PROVIDER/KEY")]
    UnknownMatch { id: Id },
    #[error("both are matches of {provider}, and no provider has one match twice")]
    OneProvider { provider: String },
    #[error("both are the match {id} already")]
    OneMatch { id: Id },
    #[error("cannot write the answer")]
    Output(#[from] io::Error),
}

/// Does what the command says, and writes its answer.
///
/// # Errors
///
/// If the database cannot be used, if the matches cannot be told from what is said, or if nobody
/// reads the answer.
pub async fn run(
    command: MatchesCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), MatchesCommandError> {
    let (MatchesCommand::List(MatchesArgs { db })
    | MatchesCommand::Doubtful(MatchesArgs { db })
    | MatchesCommand::Join(MatchesJoinArgs { db, .. })
    | MatchesCommand::Split(MatchesSplitArgs { db, .. })) = &command;
    let accounts = Accounts::open_existing(db, config).await?;
    let store = Store::of(accounts.database());
    let done = match command {
        MatchesCommand::List(_) => list(&store, out).await,
        MatchesCommand::Doubtful(_) => doubtful(&store, out).await,
        MatchesCommand::Join(args) => join(&store, args, now, out).await,
        MatchesCommand::Split(args) => split(&store, args, now, out).await,
    };
    accounts.close().await;
    done
}

async fn list(store: &Store, out: &mut impl Write) -> Result<(), MatchesCommandError> {
    for Listed { told, place, by, with } in store.bindings().await? {
        let with = with.map_or_else(|| "-".to_owned(), |(provider, key)| name(&provider, &key));
        let swapped = swapped(place.swapped);
        writeln!(out, "{}\t{}\t{swapped}\t{by}\t{with}", place.id, shown(&told))?;
    }
    for Unfollowed { numbered, refused } in store.unfollowed().await? {
        let state = refused.map_or_else(|| "waits".to_owned(), |why| format!("refused: {why}"));
        writeln!(out, "order {}\t{}\t{state}", numbered.number, order(&numbered.order))?;
    }
    Ok(())
}

async fn doubtful(store: &Store, out: &mut impl Write) -> Result<(), MatchesCommandError> {
    for Doubt { one, other, swapped: turned, score, why } in store.doubts().await? {
        let (why, turned) = (plain(&why), swapped(turned));
        writeln!(out, "{score:.2}\t{why}\t{turned}\t{}\t{}", shown(&one), shown(&other))?;
    }
    Ok(())
}

async fn join(
    store: &Store,
    args: MatchesJoinArgs,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), MatchesCommandError> {
    let (provider, key) = match Named::read(&args.one)? {
        Named::Key(provider, key) => (provider, key),
        Named::Id(id) => store.key_of(id).await?.ok_or(MatchesCommandError::UnknownMatch { id })?,
    };
    let own = identity::own(&provider, &key);
    let (other, with) = match Named::read(&args.other)? {
        Named::Key(other, _) if other == provider => {
            return Err(MatchesCommandError::OneProvider { provider });
        }
        Named::Key(other, key) => (identity::own(&other, &key), Some((other, key))),
        Named::Id(id) => (id, None),
    };
    let Place { id: into, swapped } = place(store, other).await?;
    if into == place(store, own).await?.id {
        return Err(MatchesCommandError::OneMatch { id: into });
    }
    let known = store.doubts().await?.into_iter().find(|doubt| doubt.is_of(own, other));
    let turned = args.swapped || known.is_some_and(|doubt| doubt.swapped);
    let order = Order::Join { provider, key, into, swapped: turned ^ swapped, with };
    write(store, &order, now, out).await
}

async fn split(
    store: &Store,
    MatchesSplitArgs { db: _, provider, key }: MatchesSplitArgs,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), MatchesCommandError> {
    write(store, &Order::Split { provider, key }, now, out).await
}

async fn write(
    store: &Store,
    wanted: &Order,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), MatchesCommandError> {
    let number = store.order(wanted, now).await?;
    Ok(writeln!(out, "order {number}\t{}", order(wanted))?)
}

async fn place(store: &Store, own: Id) -> Result<Place, sqlx::Error> {
    Ok(store.place(own).await?.unwrap_or(Place { id: own, swapped: false }))
}

/// How the operator names a match.
enum Named {
    Key(String, String),
    Id(Id),
}

impl Named {
    /// Providers have no slash in their names; keys may.
    fn read(text: &str) -> Result<Self, MatchesCommandError> {
        match text.split_once('/') {
            Some((provider, key)) if !provider.is_empty() && !key.is_empty() => {
                Ok(Self::Key(provider.to_owned(), key.to_owned()))
            }
            Some(_) => Err(MatchesCommandError::NoMatch { text: text.to_owned() }),
            // Ids have 52 bits.
            None => match text.parse() {
                Ok(id) if id < 1 << 52 => Ok(Self::Id(Id(id))),
                _ => Err(MatchesCommandError::NoMatch { text: text.to_owned() }),
            },
        }
    }
}

fn order(order: &Order) -> String {
    match order {
        Order::Join { provider, key, into, swapped: turned, with: _ } => {
            format!("join\t{}\t{into}\t{}", name(provider, key), swapped(*turned))
        }
        Order::Split { provider, key } => format!("split\t{}", name(provider, key)),
    }
}

fn swapped(swapped: bool) -> &'static str {
    if swapped { "swapped" } else { "-" }
}

fn shown(told: &Told) -> String {
    let [sides, start, competition] = [&told.sides, &told.start, &told.competition]
        .map(|text| if text.is_empty() { "-".to_owned() } else { plain(text) });
    format!("{}\t{sides}\t{start}\t{competition}", name(&told.provider, &told.key))
}

fn name(provider: &str, key: &str) -> String {
    plain(&format!("{provider}/{key}"))
}

/// On one line and within its column: feeds may send anything, and a terminal obeys control
/// characters.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
