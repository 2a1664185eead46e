# Thin verbs; what they do is written in Python (sim/engine/bootstrap.py for the environment, the `bitpath` command for the rest).
PYTHON ?= python3
VENV := .venv
BITPATH := $(VENV)/bin/python -m bitpath
# Tests take from milliseconds to a minute: who has done his own takes from the other.
PYTEST := $(VENV)/bin/python -m pytest -n 2 --dist worksteal
# As the bitpath command has it, so that its reports and pytest's are together.
BUILD := $(or $(BITPATH_BUILD),build)
REPORTS := $(BUILD)/reports

# User settings, passed on where they are given: make run MACHINE=trainium3 SIM=icarus
run_options = $(if $(MACHINE),--machine "$(MACHINE)") $(if $(FORMAT),--format "$(FORMAT)") \
	$(if $(SCALE_RULE),--scale-rule "$(SCALE_RULE)") $(if $(SHAPING),--shaping "$(SHAPING)") $(if $(QOS),--qos "$(QOS)") \
	$(if $(SIM),--sim "$(SIM)") $(if $(filter-out 0,$(WAVES)),--waves)
lm_options = $(if $(LINEAR),--linear "$(LINEAR)") $(if $(MODEL),--model "$(MODEL)") $(if $(TEXT),--text "$(TEXT)") \
	$(if $(TOKENS),--tokens "$(TOKENS)") $(if $(PROMPT),--prompt "$(PROMPT)")
lm_golden = $(lm_options) $(if $(MACHINE),--machine "$(MACHINE)") $(if $(FORMAT),--format "$(FORMAT)") \
	$(if $(SCALE_RULE),--scale-rule "$(SCALE_RULE)") $(if $(PLAN),--plan "$(PLAN)") $(if $(BOUND),--bound "$(BOUND)")
lm_rtl = $(run_options) $(lm_options) $(if $(BLOCKS),--blocks "$(BLOCKS)") $(if $(filter-out 0,$(PROGRAM)),--program) $(cluster_options)
sim_options = $(if $(SIM),--sim "$(SIM)") $(if $(SEED),--seed "$(SEED)") $(if $(filter-out 0,$(WAVES)),--waves) \
	$(if $(BENCH),--bench "$(BENCH)") $(if $(FILTER),--filter "$(FILTER)") $(if $(CONFIG),--config "$(CONFIG)")

# Every campaign runs here, or on the workers of a Dask scheduler: SCHEDULER=tcp://host:8786
cluster_options = $(if $(SCHEDULER),--scheduler "$(SCHEDULER)")
bench_options = $(if $(UNIT),--unit "$(UNIT)") $(if $(filter-out 0,$(QUICK)),--quick) $(if $(filter-out 0,$(LARGE)),--large) \
	$(if $(filter-out 0,$(SCALING)),--scaling) $(cluster_options)
deep_options = $(if $(SEED),--seed "$(SEED)") $(if $(filter-out 0,$(QUICK)),--quick) $(cluster_options)
synth_options = $(if $(LIBERTY),--liberty "$(LIBERTY)") $(if $(CONFIG),--config "$(CONFIG)") $(cluster_options)
explore_options = $(if $(MACHINE),--machine "$(MACHINE)") $(if $(LIBERTY),--liberty "$(LIBERTY)") $(cluster_options)

# Hundreds of short processes import the same modules: Python keeps them compiled, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup icarus run test test-fast test-deep sim waves lint verilog formal mutate deep coverage bench synth explore report records docs check clean agree ledger

help: ## show this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## make .venv with the pinned packages (at once when nothing changed)
	@$(PYTHON) -I sim/engine/bootstrap.py

icarus: setup
	@$(BITPATH) self tools --need icarus --install

run: $(if $(filter icarus,$(SIM)),icarus,setup) ## real tensors through golden and RTL: MACHINE= FLOW= FORMAT= SCALE_RULE= SHAPING= QOS= SIM=verilator|icarus WAVES=1; FLOW=lm, a language model: MODEL= TEXT= PROMPT= TOKENS= LINEAR=w8a8, in golden PLAN=auto|FILE BOUND=, with RTL=1 BLOCKS=N|all PROGRAM=1 SCHEDULER=
	@$(if $(filter lm,$(FLOW)),$(PYTHON) -I sim/engine/bootstrap.py lm plot)
	@$(BITPATH) $(if $(filter lm,$(FLOW)),$(if $(filter-out 0,$(RTL)),run lm $(lm_rtl),lm $(lm_golden)),run $(or $(FLOW),matmul) $(run_options))

test: icarus ## every test but the deep ones, two at a time
	@mkdir -p $(REPORTS)
	@$(PYTHON) -I sim/engine/bootstrap.py synth plot
	@$(PYTEST) -m "not deep" --junitxml=$(REPORTS)/test.xml

test-fast: setup ## the golden models, the house rules and other cheap tests; no simulator
	@mkdir -p $(REPORTS)
	@$(PYTEST) -m "not deep and not simulator" --junitxml=$(REPORTS)/test-fast.xml

test-deep: icarus ## the long tests that `make test` leaves out
	@mkdir -p $(REPORTS)
	@$(PYTHON) -I sim/engine/bootstrap.py synth plot formal torch lm
	@$(PYTEST) -m deep --junitxml=$(REPORTS)/test-deep.xml
	@$(MAKE) --no-print-directory deep

deep: setup ## units against golden: 10^8 random vectors a machine and whole ranges; NAME= SEED= QUICK=1 SCHEDULER=
	@$(BITPATH) self deep $(NAME) $(deep_options)

sim: $(if $(filter icarus,$(SIM)),icarus,setup) ## one unit's bench: UNIT= SIM=verilator|icarus SEED= WAVES=1 FILTER= CONFIG= BENCH=
	@$(BITPATH) self test-sim "$(UNIT)" $(sim_options)

waves: setup ## open GTKWave on the unit's last wave: UNIT=
	@$(BITPATH) waves "$(UNIT)"

lint: setup ## ruff: rules and format; mypy: types
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy

verilog: setup ## write every unit's Verilog with a testbench, a FuseSoC core and a Bender manifest below build/verilog
	@$(BITPATH) emit --all --flat --testbench --out $(BUILD)/verilog

formal: ## properties proved, and their sabotages refuted: UNIT= SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py formal
	@$(BITPATH) self formal $(UNIT) $(cluster_options)

coverage: ## bins, lines and toggles that each unit's bench reaches: UNIT= UPDATE=1 MISSING=1 SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py synth plot
	@$(BITPATH) self coverage $(UNIT) $(if $(filter-out 0,$(UPDATE)),--update) $(if $(filter-out 0,$(MISSING)),--missing) \
		$(cluster_options)

bench: setup ## speed of golden and of the engines' simulation: UNIT= QUICK=1; LARGE=1 (16384x4096x4096); SCALING=1 SCHEDULER=
	@$(if $(filter-out 0,$(LARGE) $(SCALING)),$(PYTHON) -I sim/engine/bootstrap.py plot)
	@$(BITPATH) self bench $(bench_options)

synth: ## area and longest path: UNIT= LIBERTY= CONFIG= SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py synth
	@$(BITPATH) self synth $(UNIT) $(synth_options)

mutate: ## small faults in datapaths, golden and comparisons, which their tests must notice: UNIT= (all when not given) COUNT= SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py formal plot
	@$(BITPATH) self mutate $(or $(UNIT),--all) $(if $(COUNT),--count "$(COUNT)") $(cluster_options)

agree: icarus ## every simulator and the netlist of gates give the same bits: UNIT= SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py synth
	@$(BITPATH) self agree $(UNIT) $(if $(SEED),--seed "$(SEED)") $(cluster_options)

ledger: setup ## public statements about the real chips, computed anew by golden: ROW=
	@$(BITPATH) ledger $(ROW)

explore: ## numerics swept, area against error: MACHINE= LIBERTY= SCHEDULER=
	@$(PYTHON) -I sim/engine/bootstrap.py synth plot
	@$(BITPATH) self explore $(explore_options)

report: ## one page, build/reports/report.html: the last run, testplans, campaigns, cost, numerics; STRICT=1 fails unless all items passed
	@$(PYTHON) -I sim/engine/bootstrap.py plot
	@$(BITPATH) self report $(if $(filter-out 0,$(STRICT)),--strict)

records: setup ## take the campaigns' reports into docs/records and the README, in one commit: ON="x86-64, 2 cores"
	@cd docs && ../$(VENV)/bin/python -m parts.take --machine "$(ON)" --commit

docs: setup ## the pages below build/docs/html; examples and tutorials run, warnings are errors
	@$(PYTHON) -I sim/engine/bootstrap.py synth plot docs lm
	@$(VENV)/bin/python -m sphinx -W --keep-going --quiet -E -a -d build/docs/doctrees docs build/docs/html
	@echo "pages: build/docs/html/index.html"

check: lint test ## what CI runs

clean: ## remove build/ (simulator builds, runs, waves, reports)
	rm -rf build
