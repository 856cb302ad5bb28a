// The football matches of the day, one of them in full: scores, clock, prices and goals as they happen.
import { useEffect, useState } from "react";
import { useChannel, useEvents, useHealth, useHub } from "matchwire/react";

const inPlay = ({ matches }) =>
  Object.entries(matches ?? {})
    .filter(([, match]) => match.life === "live")
    .map(([id, { home, away, score }]) => ({ id, home: home?.name, away: away?.name, score }));

export function Dashboard() {
  const rows = useChannel("football", inPlay) ?? [];
  const [chosen, choose] = useState();
  const id = chosen ?? rows[0]?.id;
  return (
    <main>
      <ul>
        {rows.map(({ id, home, away, score }) => (
          <li key={id} onClick={() => choose(id)}>
            {home} <b>{score?.home}–{score?.away}</b> {away}
          </li>
        ))}
      </ul>
      {id && <Match key={id} ch={`football/${id}`} />}
    </main>
  );
}

function Match({ ch }) {
  const [goals, setGoals] = useState([]);
  const match = useChannel(ch, ({ home, away, score }) => ({ home, away, score }));
  const odds = useChannel(`${ch}/odds`, ({ suspended, markets }) => !suspended && markets?.match_winner?.selections);
  useEvents(ch, "goal", (goal) => setGoals((before) => [...before, goal]));
  useEvents(ch, "retract", ({ of }) => setGoals((before) => before.filter(({ eid }) => eid !== of)));
  return (
    <section data-health={useHealth(ch)}>
      <h1>{match?.home?.name} {match?.score?.home}–{match?.score?.away} {match?.away?.name}</h1>
      <Clock ch={ch} />
      <p>{odds ? Object.entries(odds).map(([outcome, { price }]) => `${outcome} ${price ?? "–"}`).join(" · ") : "suspended"}</p>
      <ol>{goals.map((goal) => <li key={goal.eid}>{goal.minute}′ {goal.player?.name ?? goal.side}</li>)}</ol>
    </section>
  );
}

function Clock({ ch }) {
  const hub = useHub();
  const [text, setText] = useState("");
  useEffect(() => {
    const match = hub.follow(ch, { rate: 5000 });
    const timer = setInterval(() => setText(match.clock()), 250);
    return () => {
      clearInterval(timer);
      match.close();
    };
  }, [hub, ch]);
  return <time>{text}</time>;
}
