# `make run` and `make test` are all that is needed; `make` alone lists the rest.
.DEFAULT_GOAL := help
.PHONY: help run test lint bench kill-loop kill-loop-postgres races clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the service on 127.0.0.1:8080 with its data in ./data
	cargo run --release -p campanile -- serve

test: ## Run every test, the API checks and the kill loop on both databases; install what they need
	scripts/test.sh

lint: ## Check formatting, warnings, and the licences and sources of dependencies
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p campanile --features trial,flaws -- -D warnings
	scripts/deny.sh

bench: ## Measure throughput, lateness, memory and start-up time, beside other software
	scripts/bench.sh

kill-loop: ## Kill the service 5,000 times, and check that no post was lost or went out twice
	scripts/kill-loop.sh --kills 5000 --accounts 12 --patience 1500

kill-loop-postgres: ## The same on PostgreSQL, with two processes that publish
	scripts/kill-loop.sh --on-postgres --kills 5000 --accounts 12 --patience 1500

races: ## Cancel, reschedule, edit and delete 10,000 posts each while they are published
	scripts/races.sh

clean: ## Remove what was built and what the tests installed for themselves
	-scripts/postgres.sh stop
	-scripts/postgres.sh stop --durable
	-scripts/peers.sh stop
	rm -rf .cache
	cargo clean
