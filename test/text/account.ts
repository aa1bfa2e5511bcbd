import { setTimeout as delay } from 'node:timers/promises';
import type { TestDaemon } from '../daemon.ts';

interface Account {
  readonly credits: {
    readonly reserved: number;
    readonly spent: number;
    readonly available: number;
  };
  readonly key: { readonly budget: { readonly spent: number; readonly reserved: number } | null };
}

export async function account({ url }: TestDaemon, key: string): Promise<Account> {
  const response = await fetch(`${url}/v1/account`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return (await response.json()) as Account;
}

/** Polls the account until the charge, which is written after the response, is settled. */
export async function settled(
  daemon: TestDaemon,
  key: string,
  least = 0.000_001,
): Promise<Account> {
  for (;;) {
    const found = await account(daemon, key);
    if (found.credits.reserved === 0 && found.credits.spent > least - 0.000_001) return found;
    await delay(20);
  }
}
