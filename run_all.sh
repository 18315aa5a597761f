#!/usr/bin/env bash
#
# The whole artifact as one recipe, read top to bottom.
#
#   ./run_all.sh         a real model climbs the ladder on this machine, then tables, figures, PDF and claims
#   ./run_all.sh test    every check and every test, the notebooks among them
#   ./run_all.sh full    the whole study against your own model server, then tables, figures, PDF and claims:
#
#       ARTIFACT_MODEL=http://localhost:8000/v1#NAME ./run_all.sh full --concurrency 32
#
# Needs Python 3.11 or newer, 8 GB of disk and 4 GB of memory (8 for the tests); no GPU and no account. Writes to this
# folder only, except that it installs TeX where apt may be used. Run it again at any time: it goes on where it stopped.
# Times are those of two CPU cores.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

mode=${1:-default}
headline() { printf '\n== %s\n' "$*"; }
stop() { printf 'run_all.sh: %s\n' "$*" >&2; exit 2; }

case $mode in
    default | test) [ $# -le 1 ] || stop "'$mode' takes no options; only 'full' hands options on to artifact run." ;;
    full) [ -n "${ARTIFACT_MODEL:-}" ] || stop "set ARTIFACT_MODEL to your server, as in the first lines of this file." ;;
    *) stop "there is no mode '$mode'; the modes are: (none), test, full." ;;
esac


# --- Python: .venv with exactly what requirements.lock pins, every file checked by hash ------------------- 1 min

headline "Python environment"
python=
for candidate in python3.12 python3.13 python3.11 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || stop "found no Python 3.11 or newer; install one and run this again."

.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv ||
    stop "$python can't make a virtual environment; install its venv module (on Debian: apt install python3-venv)."
export PATH="$PWD/.venv/bin:$PATH"

if { pwd; cat requirements.lock pyproject.toml; } | cmp -s - .venv/installed; then
    echo "as locked already"
else
    pip_install="python -m pip install --quiet --disable-pip-version-check"
    $pip_install --require-hashes --requirement requirements.lock ||
        stop "could not install requirements.lock; the lines above say why. Check the connection and run this again."
    $pip_install --no-deps --no-build-isolation --editable . ||
        stop "could not install the package itself; the lines above say why."
    { pwd; cat requirements.lock pyproject.toml; } >.venv/installed
fi
python --version


# --- TeX, needed for the PDF alone: by apt where that is allowed, otherwise go on without --------------- half a min

headline "TeX"
tex_packages="latexmk lmodern texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended"
tex_files="lmodern.sty multirow.sty microtype.sty natbib.sty mathpazo.sty pplr8t.tfm"
tex_is_complete() { command -v latexmk >/dev/null && kpsewhich $tex_files >/dev/null; }

if ! tex_is_complete && ! command -v tectonic >/dev/null && command -v apt-get >/dev/null; then
    as_root=
    [ "$(id -u)" != 0 ] || as_root="env"
    [ -n "$as_root" ] || ! sudo -n true 2>/dev/null || as_root="sudo -n env"
    if [ -n "$as_root" ]; then
        { $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
            $as_root DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $tex_packages
        } >.venv/tex-install.log 2>&1 || echo "apt could not install it; .venv/tex-install.log says why."
    fi
fi
if tex_is_complete; then
    tex=latexmk
elif command -v tectonic >/dev/null; then
    tex=tectonic
else
    tex=
    echo "No TeX here, so no PDF; tables and figures are made all the same. To have it: apt install $tex_packages"
fi
[ -z "$tex" ] || echo "$tex"


# --- test: every check and every test; the last line is pytest's ---------------------------------------- 20 min

if [ "$mode" = test ]; then
    headline "Weights for the tests on a real model"
    artifact models fetch smollm2-135m
    artifact models fetch qwen2.5-coder-0.5b

    headline "Checksums of the released data"
    artifact verify

    headline "Style and types"
    python -m ruff check .
    python -m mypy

    headline "Notebooks, into build/ so that the committed tables and figures stay as they are"
    ARTIFACT_OUTPUT="$PWD/build/notebook-tests" python -m pytest --nbval-lax --nbval-current-env notebooks

    headline "Tests"
    exec python -m pytest tests
fi


# --- The released logs are the ones that were released: every file under data/ against SHA256SUMS -------- 1 second

headline "Checksums of the released data"
artifact verify


# --- default: smoke. Qwen2.5-Coder-1.5B on this machine's CPU, two seeds on all four rungs ---------------- 9 min

if [ "$mode" = default ]; then
    headline "Weights: 1.1 GB, checked by SHA-256"
    artifact models fetch qwen2.5-coder-1.5b

    headline "A real model climbs the ladder: 2 seeds x 4 rungs"
    artifact run --study smoke --model qwen2.5-coder-1.5b --prompts fewshot \
        --arms raw,checklist,directive,enforcement --sizes 5 --seeds 100:102
fi


# --- full: both briefs, S = 5, 10, 15, 18 sparse and S = 15 dense, 128 seeds, four rungs: 5,120 episodes ---- hours

if [ "$mode" = full ]; then
    for brief in amended original; do
        headline "The study, $brief brief, sparse"
        artifact run --study full --model "$ARTIFACT_MODEL" --brief "$brief" \
            --arms raw,checklist,directive,enforcement --sizes 5,10,15,18 --densities 0.15 --seeds 100:228 "${@:2}"
        headline "The study, $brief brief, dense"
        artifact run --study full --model "$ARTIFACT_MODEL" --brief "$brief" \
            --arms raw,checklist,directive,enforcement --sizes 15 --densities 0.3 --seeds 100:228 "${@:2}"
    done
fi


# --- Notebooks, headless, on the released logs and the runs above: every table, figure and number --------- 1 min

headline "Notebooks"
artifact notebooks rq1 rq2 rq3 rq4


# --- The PDF: the same bytes on every build from the same tables and figures ---------------------------- 10 seconds

headline "PDF"
case $tex in
    latexmk) build="latexmk -g -silent" ;;
    tectonic) build="tectonic --keep-logs" ;;
    *) build= ;;
esac
if [ -n "$build" ]; then
    (cd paper && $build main.tex >build.log 2>&1) || stop "the PDF could not be built; paper/build.log says why."
    echo "paper/main.pdf"
else
    echo "skipped: no TeX"
fi


# --- Claims: each claim of the paper, what was expected, what was measured, whether it holds ------------- 1 second

headline "Claims"
artifact claims

headline "Where to look"
[ -z "$tex" ] || echo "the paper        paper/main.pdf"
cat <<'END'
its tables       paper/tables/        (git diff shows what your runs have added to the released ones)
its figures      figures/
the notebooks    build/notebooks/     (as executed; the ones to work with are in notebooks/)
the runs         runs/                (.venv/bin/artifact show LOG reads one to you)
END
