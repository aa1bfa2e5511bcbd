import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import type { Reservation } from '../../../src/store/budgets.ts';
import { unavailable } from '../../../src/store/drivers/postgres/database/errors.ts';
import {
  ChargeLog,
  readLeftoverCharges,
} from '../../../src/store/drivers/postgres/escrow/charge-log.ts';
import { Escrows } from '../../../src/store/drivers/postgres/escrow/escrows.ts';
import { gate } from '../../gate.ts';
import { MemoryBank } from './memory-bank.ts';

const folder = mkdtempSync(join(tmpdir(), 'oriel-escrow-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ACCOUNT = 'acct_1';
let count = 0;

const payerOf = (key: number) => ({ accountId: ACCOUNT, keyId: `key_${key}` });

function bankWith(granted: number, budgets: readonly (number | null)[] = [null]): MemoryBank {
  const bank = new MemoryBank();
  const account = {
    id: ACCOUNT,
    name: 'one',
    plan: 'paid' as const,
    granted,
    reserved: 0,
    spent: 0,
    callbackSecret: '',
    createdAt: 0,
  };
  for (const [index, budget] of budgets.entries()) {
    const key = {
      id: `key_${index}`,
      accountId: ACCOUNT,
      name: `${index}`,
      hash: '',
      hint: '',
      createdAt: 0,
      expiresAt: null,
      revokedAt: null,
      models: null,
      rpm: null,
      budget,
      reserved: 0,
      spent: 0,
    };
    bank.add({ account, key });
  }
  return bank;
}

async function nodeOf(bank: MemoryBank, name?: string) {
  count += 1;
  const node = name ?? `node_${count}`;
  const log = await ChargeLog.open({
    folder: join(folder, node),
    node,
    onFault: (error) => {
      throw error;
    },
  });
  const lease = { isValid: true };
  const isLeased = () => lease.isValid;
  const database: { outage: Failure | null } = { outage: null };
  const escrows = new Escrows({
    ...{ bank, log, node, isLeased, now: Date.now, onFault: () => {} },
    outage: () => database.outage,
  });
  bank.join(node, escrows);
  return { node, log, lease, database, escrows };
}

const usage = (charge: number, model = 'm') => ({ model, counts: {}, charge });

async function refusalOf(attempt: Promise<unknown>): Promise<string | null> {
  try {
    await attempt;
    return null;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

describe('escrows', () => {
  it('reserve and charge while the database does not answer, once they are drawn', async () => {
    const bank = bankWith(1_000_000);
    const { escrows } = await nodeOf(bank);
    escrows.release(await escrows.reserve(payerOf(0), 100));
    // The draw in advance is answered.
    await escrows.flush();
    const { passed, open: answer } = gate();
    bank.answers = passed;
    for (let round = 0; round < 50; round += 1) {
      const reservation = await escrows.reserve(payerOf(0), 100);
      expect(await escrows.settle(reservation, usage(1))).toBe(1);
    }
    answer();
    await escrows.close();
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 50 });
  });

  it('do not keep requests waiting for a draw once the database is known to be away', async () => {
    const bank = bankWith(1_000_000);
    const { escrows, database } = await nodeOf(bank);
    const { passed, open: answer } = gate();
    bank.answers = passed;
    const waiting = [1, 2].map(() => refusalOf(escrows.reserve(payerOf(0), 100)));
    database.outage = unavailable(new Error('no answer'));
    expect(await Promise.all(waiting)).toEqual(['store_unavailable', 'store_unavailable']);
    // The draw has its answer in the end, and serves the next request.
    database.outage = null;
    answer();
    escrows.release(await escrows.reserve(payerOf(0), 100));
    await escrows.close();
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 0 });
  });

  it('of two nodes return what the other needs before it refuses', async () => {
    const bank = bankWith(1000);
    const [one, other] = [await nodeOf(bank), await nodeOf(bank)];
    const first = await one.escrows.reserve(payerOf(0), 600);
    one.escrows.release(first);
    const second = await other.escrows.reserve(payerOf(0), 900);
    expect(await refusalOf(one.escrows.reserve(payerOf(0), 101))).toBe('insufficient_credits');
    other.escrows.release(second);
    await one.escrows.reserve(payerOf(0), 100);
    await one.escrows.close();
    await other.escrows.close();
  });

  it('reserve nothing after the end of the lease, and charge what was reserved before', async () => {
    const bank = bankWith(1000);
    const { lease, escrows } = await nodeOf(bank);
    const before = await escrows.reserve(payerOf(0), 10);
    lease.isValid = false;
    expect(await refusalOf(escrows.reserve(payerOf(0), 1))).toBe('store_unavailable');
    expect(await escrows.settle(before, usage(7))).toBe(7);
    await escrows.close();
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 7 });
  });

  it('release what a draw without an answer has drawn', async () => {
    const bank = bankWith(1000);
    const { escrows } = await nodeOf(bank);
    let faults = 1;
    bank.fault = () => (faults-- > 0 ? 'after' : null);
    expect(await refusalOf(escrows.reserve(payerOf(0), 600))).toBe('store_unavailable');
    expect(bank.account(ACCOUNT).reserved).toBe(600);
    const reservation = await escrows.reserve(payerOf(0), 700);
    expect(bank.account(ACCOUNT).reserved).toBeLessThanOrEqual(1000);
    expect(await escrows.settle(reservation, usage(10))).toBe(10);
    await escrows.close();
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 10 });
  });

  it.each([
    { each: 'tenth of a second', interval: 100 },
    { each: 'second', interval: 1000 },
    { each: 'ten seconds', interval: 10_000 },
  ])('hold what a request each $each needs for a failover', async ({ interval }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const bank = bankWith(1_000_000);
    const { escrows } = await nodeOf(bank);
    const spendFor = async (milliseconds: number) => {
      for (let at = 0; at < milliseconds; at += interval) {
        await escrows.settle(await escrows.reserve(payerOf(0), 20), usage(5));
        await vi.advanceTimersByTimeAsync(interval);
      }
    };
    await spendFor(60_000);
    bank.fault = () => 'before';
    await spendFor(40_000);
    bank.fault = () => null;
    await vi.advanceTimersByTimeAsync(300_000);
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: (5 * 100_000) / interval });
    await escrows.close();
  });

  it('answer repeated refusals without a query until credits change', async () => {
    const bank = bankWith(100);
    const { escrows } = await nodeOf(bank);
    const held = await escrows.reserve(payerOf(0), 60);
    expect(await refusalOf(escrows.reserve(payerOf(0), 50))).toBe('insufficient_credits');
    const { draws } = bank;
    for (let round = 0; round < 20; round += 1) {
      expect(await refusalOf(escrows.reserve(payerOf(0), 50))).toBe('insufficient_credits');
    }
    expect(bank.draws).toBe(draws);
    escrows.release(held);
    await escrows.release(await escrows.reserve(payerOf(0), 50));
    await escrows.close();
    expect(bank.account(ACCOUNT).reserved).toBe(0);
  });

  it('of an ended process are folded by the next one from the file, once', async () => {
    const bank = bankWith(1000);
    const { node, escrows } = await nodeOf(bank);
    await escrows.settle(await escrows.reserve(payerOf(0), 10), usage(7));
    await escrows.flush();
    await escrows.settle(await escrows.reserve(payerOf(0), 10), usage(5));
    // The process ends here: its lease runs out, and its folder is opened again.
    bank.end(node);
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 7 });
    for (let start = 0; start < 2; start += 1) {
      const leftover = await readLeftoverCharges(join(folder, node));
      for (const batch of leftover.batches) await bank.fold(batch);
      if (start === 1) await leftover.remove();
    }
    expect(bank.account(ACCOUNT)).toMatchObject({ reserved: 0, spent: 12 });
    expect(bank.requests).toEqual(new Map([['m', 2]]));
    expect(readdirSync(join(folder, node))).toEqual([]);
  });

  it('keep every sum exact over nodes, failures of the database and lost leases', async () => {
    const step = fc.record({
      node: fc.nat(1),
      key: fc.nat(1),
      kind: fc.constantFrom('reserve', 'reserve', 'settle', 'settle', 'release', 'flush', 'lose'),
      amount: fc.integer({ min: 0, max: 400 }),
      fault: fc.constantFrom(null, null, null, 'before', 'after'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const bank = bankWith(1000, [null, 500]);
        const nodes = [await nodeOf(bank), await nodeOf(bank)];
        const held: { reservation: Reservation; node: number }[] = [];
        let [charged, requests, losses] = [0, 0, 0];
        for (const { node: index, key, kind, amount, fault } of steps) {
          let faults = fault === null ? 0 : 1;
          bank.fault = () => (faults-- > 0 ? fault : null);
          const { escrows } = nodes[index]!;
          if (kind === 'reserve') {
            const refusal = await refusalOf(
              escrows.reserve(payerOf(key), amount).then((reservation) => {
                held.push({ reservation, node: index });
              }),
            );
            if (fault === null && refusal !== null) {
              expect(['insufficient_credits', 'key_budget_exceeded']).toContain(refusal);
            }
          } else if (kind === 'settle' && held.length > 0) {
            const { reservation, node } = held.splice(amount % held.length, 1)[0]!;
            const paid = await nodes[node]!.escrows.settle(reservation, usage(amount));
            if (losses === 0)
              expect(paid).toBeGreaterThanOrEqual(Math.min(amount, reservation.amount));
            charged += paid;
            requests += 1;
          } else if (kind === 'release' && held.length > 0) {
            const { reservation, node } = held.splice(amount % held.length, 1)[0]!;
            nodes[node]!.escrows.release(reservation);
          } else if (kind === 'flush') await refusalOf(escrows.flush());
          else if (kind === 'lose' && amount < 40) {
            losses += 1;
            bank.end(nodes[index]!.node);
            const node = `node_again_${count}_${losses}`;
            bank.join(node, escrows);
            nodes[index]!.node = node;
            nodes[index]!.log.restart(node);
            escrows.lost(node);
          }
          const { granted, reserved, spent } = bank.account(ACCOUNT);
          expect(reserved).toBeGreaterThanOrEqual(0);
          expect(reserved + spent).toBeLessThanOrEqual(granted);
          const limited = bank.holder(ACCOUNT, 'key_1').key;
          expect(limited.reserved + limited.spent).toBeLessThanOrEqual(500);
        }
        bank.fault = () => null;
        for (const { reservation, node } of held) nodes[node]!.escrows.release(reservation);
        for (const { escrows, log } of nodes) {
          await escrows.close();
          log.close(true);
        }
        const { reserved, spent } = bank.account(ACCOUNT);
        // Also what draws without an answer have drawn.
        expect(reserved).toBe(0);
        if (losses === 0) expect(spent).toBe(charged);
        else expect(spent).toBeLessThanOrEqual(charged);
        expect(bank.requests.get('m') ?? 0).toBe(requests);
      }),
      { numRuns: 150 },
    );
  });
});
