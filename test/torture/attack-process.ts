import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Arms, Attacker } from './attacks/attack.ts';
import { ATTACKS } from './attacks/attacks.ts';
import { fuzz } from './fuzz/fuzz.ts';
import type { AttackReport, Command, Message } from './messages.ts';
import { Outages, type Reach } from './outages.ts';
import { Random } from './random.ts';
import { badLoad, type Load, measureCapacity } from './tenants/bad-load.ts';
import { Violations } from './violations.ts';

/** Scenarios at once. */
const LANES = 6;

type AttackCommand = Extract<Command, { type: 'attack' }>;

const violations = new Violations();
const outages = new Outages();
const endings = new Map<Reach, () => void>();
let arms: Arms;
let seed = '';
let goesOn = true;
let beginsRounds = true;
/** When the load was told to end. */
let finished = 0;

// Attackers have machines of their own: here they leave the processor to the daemon.
setPriority(5);

function say(message: Message): void {
  process.send!(message);
}

async function attack({ rate, only }: AttackCommand): Promise<void> {
  const started = performance.now();
  const load: Load = { sent: 0, served: 0, turnedAway: 0, heldBack: 0 };
  const random = new Random(`${seed}:load`);
  const running = () => goesOn;
  const reports = new Map<string, AttackReport>();
  const [, fuzzed] = await Promise.all([
    badLoad(arms, random, rate, 256, { goesOn: running, outages, violations, load }),
    fuzz({ ...arms, seed, outages, violations, atOnce: 1, goesOn: running }),
    scenarios(reports, only),
  ]);
  const seconds = (finished - started) / 1000;
  const attacks = [...reports.values()];
  say({ type: 'ended', load, seconds, attacks, fuzzed, violations: violations.all });
}

/** Runs each scenario once, and then again in rounds for as long as there is time. */
async function scenarios(
  reports: Map<string, AttackReport>,
  only: readonly string[] | undefined,
): Promise<void> {
  const wanted = ATTACKS.filter(({ name }) => only?.some((part) => name.includes(part)) ?? true);
  if (wanted.length === 0) throw new Error(`no scenario is called ${only?.join()}`);
  let next = 0;
  const lane = async () => {
    while (beginsRounds || next < wanted.length) {
      if (next >= wanted.length && reports.size < wanted.length) {
        // A second round would only delay the first.
        await sleep(200);
        continue;
      }
      const number = next;
      next += 1;
      const scenario = wanted[number % wanted.length]!;
      const { name, summary } = scenario;
      const random = new Random(`${seed}:${name}:${Math.floor(number / wanted.length)}`);
      const attacker = new Attacker(name, arms, random, outages, violations);
      const started = performance.now();
      try {
        await scenario.run(attacker);
      } catch (error) {
        violations.add('scenarios run to their end', `${name}: ${String((error as Error).stack)}`);
      } finally {
        attacker.end();
      }
      const report = reports.get(name) ?? { name, summary, rounds: 0, tried: 0 };
      reports.set(name, report);
      report.rounds += 1;
      if (report.rounds === 1 && reports.size === wanted.length) say({ type: 'first round' });
      report.tried += attacker.tried;
      const took = ((performance.now() - started) / 1000).toFixed(1);
      say({ type: 'progress', line: `attack: ${name}, ${attacker.tried} tried, ${took} s` });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function obey(command: Command): Promise<void> {
  switch (command.type) {
    case 'calibrate': {
      ({ arms, seed } = command);
      const random = new Random(`${seed}:calibration`);
      say({ type: 'calibrated', capacity: await measureCapacity(arms, random, command.seconds) });
      return;
    }
    case 'attack':
      await attack(command);
      return;
    case 'outage':
      if (command.begins) {
        const ended = new Promise<void>((resolve) => {
          endings.set(command.reach, resolve);
        });
        void outages.during(command.reach, () => ended);
      } else endings.get(command.reach)?.();
      return;
    case 'last rounds':
      beginsRounds = false;
      return;
    case 'finish':
      beginsRounds = false;
      goesOn = false;
      finished = performance.now();
      return;
    case 'end':
      process.exit(0);
  }
}

process.on('message', (command: Command) => {
  obey(command).catch((error: unknown) => {
    process.stderr.write(`${String((error as Error).stack)}\n`);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit());
say({ type: 'ready' });
