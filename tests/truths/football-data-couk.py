"""This script computes the truth of football-data.co.uk files.

    python3 tests/truths/football-data-couk.py FOLDER

It prints a line for each season of each file: the number of rows, all results, the table, and the
prices of the first, the middle and the last row. A row without a date or without teams is no match. A
match without goals has no result. The table gives 3 points for a win and orders by points, goal
difference and goals; it knows no deductions. It is printed only if each side met each other side
once at home, because the other seasons have play-offs or are not over.
"""

import csv
import re
from collections import Counter

from recording import files, folder, print_truth, read_bytes

RESULT_COLUMNS = {"old": ("HomeTeam", "AwayTeam", "FTHG", "FTAG", "FTR"),
                  "new": ("Home", "Away", "HG", "AG", "Res")}


def read_rows(path):
    """The rows, without spaces (also those that do not break) around the values."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252")
    rows = csv.reader(text.splitlines())
    header = [name.strip() for name in next(rows)]
    for row in rows:
        yield {name: value.strip("\u00a0 ") for name, value in zip(header, row) if name}


def goals(row, columns):
    values = [row.get(column, "") for column in columns]
    return [int(value) for value in values] if all(values) else None


def bookmakers(row):
    """The prefixes of the columns of 1X2 prices: those that have all three of H, D and A.

    `B365AH` is an Asian handicap, and not the home price of a bookmaker `B365A`.
    """
    prefixes = [name[:-1] for name in row if name.endswith("H")]
    return [prefix for prefix in prefixes if prefix + "D" in row and prefix + "A" in row]


def prices(row, closing):
    """The 1X2 prices, as written. Closing prices have a C after the name of the bookmaker.

    `VC` is a bookmaker, since there is no `V`.
    """
    found, prefixes = {}, bookmakers(row)
    for prefix in prefixes:
        is_closing = prefix.endswith("C") and prefix[:-1] in prefixes
        values = [row[prefix + result] for result in "HDA"]
        if is_closing == closing and all(value not in ("", "0") for value in values):
            found[prefix[:-1] if is_closing else prefix] = dict(zip(("home", "draw", "away"), values))
    return found


def table(matches):
    """One line for each team: played, won, drawn, lost, goals, goals against, points."""
    rows = {}
    for match in matches:
        home, away = match["score"]
        for team, scored, conceded in ((match["home"], home, away), (match["away"], away, home)):
            row = rows.setdefault(team, Counter())
            row.update({"played": 1, "won": scored > conceded, "drawn": scored == conceded,
                        "lost": scored < conceded, "for": scored, "against": conceded,
                        "points": 3 if scored > conceded else scored == conceded})
    order = lambda item: (-item[1]["points"], item[1]["against"] - item[1]["for"], -item[1]["for"], item[0])
    return [{"team": team, **{name: int(value) for name, value in row.items()}}
            for team, row in sorted(rows.items(), key=order)]


def read_match(row, columns):
    home, away, *goal_columns, _ = columns
    return {"date": row["Date"], "time": row.get("Time") or None, "home": row[home], "away": row[away],
            "score": goals(row, goal_columns), "half_time": goals(row, ("HTHG", "HTAG"))}


def differences(row, columns, match):
    """Statements of a row that contradict each other, and prices that no bookmaker offers."""
    for score, column in ((match["score"], columns[4]), (match["half_time"], "HTR")):
        if score and row.get(column) != ("D" if score[0] == score[1] else "HA"[score[0] < score[1]]):
            yield f"{column} is {row.get(column)!r} at {score[0]}-{score[1]}"
    if match["score"] and match["half_time"] and any(
            half > full for half, full in zip(match["half_time"], match["score"])):
        yield f"more goals at half time than at the end: {match['half_time']}, {match['score']}"
    for name in row:
        if name.endswith(("AHH", "AHA")) and row[name] not in ("", "0") and float(row[name]) <= 1:
            yield f"{name} is a price of {row[name]}"
    for closing in (False, True):
        for bookmaker, offered in prices(row, closing).items():
            chances = sum(1 / float(price) for price in offered.values())
            if not bookmaker.endswith(("Max", "Mx")) and not 0.97 < chances < 1.3:
                yield f"prices of {bookmaker}, {'/'.join(offered.values())}: chances of {chances:.2f}"


def main():
    for path in files(folder(), ".csv"):
        seasons, blank = {}, 0
        for row in read_rows(path):
            columns = RESULT_COLUMNS["old" if "HomeTeam" in row else "new"]
            if not (row.get("Date") and row.get(columns[0]) and row.get(columns[1])):
                blank += 1
                continue
            season = row.get("Season") or re.search(r"\d{4}-\d{4}", path.name)[0]
            seasons.setdefault(season, []).append((row, columns, read_match(row, columns)))
        for season, lines in seasons.items():
            matches = [match for _, _, match in lines]
            played = [match for match in matches if match["score"]]
            teams = {match["home"] for match in matches} | {match["away"] for match in matches}
            pairs = {(match["home"], match["away"]) for match in played}
            round_robin = len(pairs) == len(played) == len(teams) * (len(teams) - 1)
            samples = [{**lines[at][2], "prices": prices(lines[at][0], False),
                        "closing_prices": prices(lines[at][0], True)} for at in (0, len(lines) // 2, -1)]
            found = [f"{match['date']} {match['home']} - {match['away']}: {what}"
                     for row, columns, match in lines for what in differences(row, columns, match)]
            first = lines[0][0]
            truth = {"division": first.get("Div") or f"{first['Country']} {first['League']}",
                     "season": season, "rows": len(lines), "blank_rows_of_file": blank,
                     "teams": len(teams), "repeated_pairs": len(played) - len(pairs),
                     "without_result": len(matches) - len(played),
                     "goals": [sum(match["score"][side] for match in played) for side in (0, 1)],
                     "table": table(played) if round_robin else None,
                     "samples": samples, "matches": matches}
            print_truth(path, f"{truth['division']} {season}", truth, found)


if __name__ == "__main__":
    main()
