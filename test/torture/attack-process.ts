import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AttackContext, Attacker } from './attacks/attack.ts';
import { ATTACKS } from './attacks/attacks.ts';
import { fuzz } from './fuzz/fuzz.ts';
import type { AttackReport, Command, Message } from './messages.ts';
import { type FaultScope, Outages } from './outages.ts';
import { Random } from './random.ts';
import { badLoad, type Load, measureCapacity } from './tenants/bad-load.ts';
import { Violations } from './violations.ts';

/** Scenarios that run at the same time. */
const CONCURRENCY = 6;

type AttackCommand = Extract<Command, { type: 'attack' }>;

const violations = new Violations();
const outages = new Outages();
const endings = new Map<FaultScope, () => void>();
let context: AttackContext;
let seed = '';
let isRunning = true;
let beginsRounds = true;
/** Time of the command to end the load. */
let finished = 0;

// Real attackers have machines of their own: here the daemon has priority on the processor.
setPriority(5);

function send(message: Message): void {
  process.send!(message);
}

async function attack({ rate, only }: AttackCommand): Promise<void> {
  const started = performance.now();
  const load: Load = { sent: 0, served: 0, rejected: 0, skipped: 0 };
  const random = new Random(`${seed}:load`);
  const running = () => isRunning;
  const reports = new Map<string, AttackReport>();
  const [, fuzzed] = await Promise.all([
    badLoad(context, random, rate, 256, { isRunning: running, outages, violations, load }),
    fuzz({ ...context, seed, outages, violations, atOnce: 1, isRunning: running }),
    scenarios(reports, only),
  ]);
  const seconds = (finished - started) / 1000;
  const attacks = [...reports.values()];
  send({ type: 'ended', load, seconds, attacks, fuzzed, violations: violations.all });
}

/** Runs each scenario once, and then in further rounds until the last round is announced. */
async function scenarios(
  reports: Map<string, AttackReport>,
  only: readonly string[] | undefined,
): Promise<void> {
  const wanted = ATTACKS.filter(({ name }) => only?.some((part) => name.includes(part)) ?? true);
  if (wanted.length === 0) throw new Error(`no scenario has a name with ${only?.join()}`);
  let next = 0;
  const worker = async () => {
    while (beginsRounds || next < wanted.length) {
      if (next >= wanted.length && reports.size < wanted.length) {
        // A second round would delay the first.
        await sleep(200);
        continue;
      }
      const number = next;
      next += 1;
      const scenario = wanted[number % wanted.length]!;
      const { name, summary } = scenario;
      const random = new Random(`${seed}:${name}:${Math.floor(number / wanted.length)}`);
      const attacker = new Attacker(name, context, random, outages, violations);
      const started = performance.now();
      try {
        await scenario.run(attacker);
      } catch (error) {
        violations.add('scenarios run to their end', `${name}: ${String((error as Error).stack)}`);
      } finally {
        attacker.end();
      }
      const report = reports.get(name) ?? { name, summary, rounds: 0, requests: 0 };
      reports.set(name, report);
      report.rounds += 1;
      if (report.rounds === 1 && reports.size === wanted.length) send({ type: 'first round' });
      report.requests += attacker.requests;
      const took = ((performance.now() - started) / 1000).toFixed(1);
      send({ type: 'progress', line: `attack: ${name}, ${attacker.requests} requests, ${took} s` });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function handle(command: Command): Promise<void> {
  switch (command.type) {
    case 'calibrate': {
      ({ context, seed } = command);
      const random = new Random(`${seed}:calibration`);
      send({
        type: 'calibrated',
        capacity: await measureCapacity(context, random, command.seconds),
      });
      return;
    }
    case 'attack':
      await attack(command);
      return;
    case 'outage':
      if (command.begins) {
        const ended = new Promise<void>((resolve) => {
          endings.set(command.scope, resolve);
        });
        void outages.during(command.scope, () => ended);
      } else endings.get(command.scope)?.();
      return;
    case 'last rounds':
      beginsRounds = false;
      return;
    case 'finish':
      beginsRounds = false;
      isRunning = false;
      finished = performance.now();
      return;
    case 'end':
      process.exit(0);
  }
}

process.on('message', (command: Command) => {
  handle(command).catch((error: unknown) => {
    process.stderr.write(`${String((error as Error).stack)}\n`);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit());
send({ type: 'ready' });
