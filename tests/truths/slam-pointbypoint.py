"""This script computes the truth of slam recordings: `python3 tests/truths/slam-pointbypoint.py FOLDER`.

It uses three columns: `SetNo` and `GameNo` group the points, and `PointWinner` gives the winner of
each. The side that wins the last point of a game wins the game, and the side with more games wins the
set. The columns with the winner of a set, the winner of a game, the games and the score serve as a
check. If a game has no points, the columns of the next game tell who won it.
"""

import csv
import io
from itertools import groupby

from recording import files, folder, print_truth, read_text

PLAYERS = ("1", "2")


def is_won(points, target, row):
    """Whether the points end the game: `target`, and two more than the other side.

    Where no advantage is played, the seventh point ends a game at 4-3.
    """
    won, lost = sorted((points.count(player) for player in PLAYERS), reverse=True)
    deciding_point = (won, lost) == (4, 3) and "AD" not in (row["P1Score"], row["P2Score"])
    return won >= target and won - lost >= 2 or target == 4 and deciding_point


def read_games(rows):
    """The games in order: the numbers of set and game, the winners of the points, the last row."""
    points = [row for row in rows if row["PointWinner"] in PLAYERS]
    grouped = groupby(points, key=lambda row: (int(row["SetNo"]), int(row["GameNo"])))
    for (set_number, game_number), group in grouped:
        group = list(group)
        yield set_number, game_number, [row["PointWinner"] for row in group], group[-1]


def read_sets(rows):
    """The sets, each with its games, its tie-break, and whether it is over."""
    sets = []
    for number, group in groupby(read_games(rows), key=lambda game: game[0]):
        group = list(group)
        games, tie_break, open_game, wrong = {"1": 0, "2": 0}, None, None, []
        if group[0][3]["P1GamesWon"] and int(group[0][1]) > 1:
            # The first games are missing. The columns give them, with the first game that is there.
            games = {player: int(group[0][3][f"P{player}GamesWon"])
                     - (group[0][3]["GameWinner"] == player) for player in PLAYERS}
        for index, (_, game_number, points, row) in enumerate(group):
            last = index == len(group) - 1
            match_tie_break = len(group) == 1 and number >= 3 and len(points) > 7
            even = games["1"] == games["2"] >= 6
            # Where two games more are needed, a game at 6-6 has at least two games after it.
            is_tie_break = match_tie_break or even and last and row["P1Score"].isdigit() and (
                max(points.count(player) for player in PLAYERS) >= 7)
            won = is_won(points, 10 if match_tie_break else 7 if is_tie_break else 4, row)
            if not last and not won:
                wrong.append(f"the points {''.join(points)} do not end game {game_number}")
            if not last or won:
                games[points[-1]] += 1
                if row["GameWinner"] in PLAYERS and row["GameWinner"] != points[-1]:
                    wrong.append(f"GameWinner {row['GameWinner']} of game {game_number}")
                counted = [str(games[player]) for player in PLAYERS]
                if row["P1GamesWon"] and [row["P1GamesWon"], row["P2GamesWon"]] != counted:
                    wrong.append(f"games {row['P1GamesWon']}-{row['P2GamesWon']} at game {game_number}")
            else:
                open_game = [points.count(player) for player in PLAYERS]
            if is_tie_break:
                tie_break = [points.count(player) for player in PLAYERS]
            if row["SetWinner"] in PLAYERS and not last:
                wrong.append(f"SetWinner {row['SetWinner']} at game {game_number}, and the set goes on")
        sets.append({"number": number, "games": list(games.values()), "tie_break": tie_break,
                     "open_game": open_game, "set_winner_column": group[-1][3]["SetWinner"], "wrong": wrong})
    return sets


def rows_with_wrong_totals(rows):
    """How many rows have running totals that differ from the points so far. Doubles have none."""
    won, wrong = {player: 0 for player in PLAYERS}, 0
    for row in rows:
        if row["PointWinner"] in PLAYERS:
            won[row["PointWinner"]] += 1
            totals = [row["P1PointsWon"], row["P2PointsWon"]]
            wrong += totals not in (["0", "0"], ["", ""], [str(won[player]) for player in PLAYERS])
    return wrong


def is_over(one):
    """Whether the games end the set."""
    won, lost = max(one["games"]), min(one["games"])
    return one["tie_break"] is not None and not one["open_game"] or won >= 6 and won - lost >= 2


def main():
    where = folder()
    for path in files(where, ".points.csv"):
        key = path.name.split(".")[0]
        match = next(csv.DictReader(io.StringIO(read_text(where / f"{key}.match.csv"))))
        rows = list(csv.DictReader(io.StringIO(read_text(path))))
        sets, found = read_sets(rows), []
        winners = []
        for one in sets:
            leader = PLAYERS[one["games"][1] > one["games"][0]]
            one["over"] = is_over(one)
            if not one["over"] and one is not sets[-1]:
                # Rows are missing. Play went on, so the set went to the side that had no set yet.
                leader = PLAYERS[winners.count("1") > winners.count("2")] if winners else None
                found.append(f"rows of set {one['number']} are missing, its games are unknown")
                one["games"] = one["open_game"] = None
            winners.append(leader if one["over"] or one is not sets[-1] else None)
            column = one.pop("set_winner_column")
            found += [f"set {one['number']}: {what}" for what in one.pop("wrong")]
            if one["over"] and column == "0":
                found.append(f"set {one['number']}: SetWinner 0 on its last row")
            one["winner"] = int(winners[-1]) if winners[-1] else None
        mens_singles = key.split("-")[2].startswith("1") or "MS" in key
        needed = 3 if mens_singles or max(winners.count(player) for player in PLAYERS) == 3 else 2
        ended = [player for player in PLAYERS if winners.count(player) == needed]
        retired = match["status"] == "Retired" and not ended
        if ended and match["status"] not in ("", "Complete"):
            found.append(f"status {match['status']!r}, and the last point ends the match")
        if wrong_totals := rows_with_wrong_totals(rows):
            found.append(f"rows whose running totals differ from the points: {wrong_totals}")
        points = [row["PointWinner"] for row in rows if row["PointWinner"] in PLAYERS]
        winner = ended[0] if ended else match["winner"] if retired else None
        truth = {"p1": [match["player1"], match.get("partner1") or None],
                 "p2": [match["player2"], match.get("partner2") or None],
                 "status": "finished" if ended else "retired" if retired else "live",
                 "winner": int(winner) if winner else None, "sets": sets,
                 "points": len(points), "points_won": [points.count(player) for player in PLAYERS],
                 "rows_without_point": len(rows) - len(points)}
        print_truth(path, key, truth, found)


if __name__ == "__main__":
    main()
