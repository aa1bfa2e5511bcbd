import type { Random } from './random.ts';

/** Prices in micro-credits that any rounding would change. */
export const PRICES = { drawn: 370_001, 'sandbox-image': 40_003 } as const;
export type ModelName = keyof typeof PRICES;

/** Accounts and their micro-credits; the last one has few. */
export const ACCOUNTS: Readonly<Record<string, number>> = {
  anna: 1_000_000_000,
  bert: 1_000_000_000,
  carla: 1_000_000_000,
  dora: 1_200_000,
};
const POOR = 'dora';

/** What the upstream does with an order; the prompt says it. */
export const MANNERS = ['well', 'slowly', 'partly', 'later', 'badly', 'brokenly'] as const;
export type Manner = (typeof MANNERS)[number];

export interface ClientRequest {
  readonly index: number;
  readonly account: string;
  readonly model: ModelName;
  readonly manner: Manner;
  readonly n: number;
  readonly size: string;
  /** Whether it comes with an image to be looked at. */
  readonly input: boolean;
  /** Whether the request has a callback URL. */
  readonly callback: boolean;
  /** Whether it is sent once more when it has been answered. */
  readonly twice: boolean;
  readonly prompt: string;
}

/** Orders of all kinds, in the order in which they are sent. */
export function makeOrders(random: Random, count: number): ClientRequest[] {
  const names = Object.keys(ACCOUNTS);
  return Array.from({ length: count }, (_, index): ClientRequest => {
    // Some of each kind, however few there are in all.
    const account = index % 8 === 3 ? POOR : random.pick(names.filter((name) => name !== POOR));
    const model: ModelName = index % 5 === 1 ? 'sandbox-image' : 'drawn';
    const manner = model === 'drawn' ? mannerOf(random, index) : index % 2 ? 'well' : 'badly';
    // Every other request of the last account costs more than it has.
    const n = account === POOR && index % 16 === 3 ? 4 : random.whole(1, 4);
    const directive = model === 'drawn' ? `do it ${manner}` : SANDBOX[manner as 'well' | 'badly'];
    return {
      index,
      account,
      model,
      manner,
      n,
      size: random.pick(['1024x1024', '1024x1024', '1536x1024', '1024x1536']),
      input: model === 'drawn' && random.chance(0.3),
      callback: random.chance(0.7),
      twice: random.chance(0.15),
      prompt: `a harbour at dawn, number ${index}, ${directive}`.trim(),
    };
  });
}

const SANDBOX = { well: '', badly: 'sandbox:fail=service_error' } as const;

function mannerOf(random: Random, index: number): Manner {
  return index % 3 === 0
    ? random.pick(['partly', 'later', 'badly', 'brokenly'])
    : random.pick(['well', 'slowly']);
}

/** Its maximum price; a request beyond the account.s credits is refused. */
export const mostOf = ({ model, n }: ClientRequest): number => PRICES[model] * n;

/** How many images there are to be in the end; 0 where it is to fail. */
export function deliveredOf({ manner, n }: ClientRequest): number {
  if (manner === 'badly' || manner === 'brokenly') return 0;
  return manner === 'partly' ? Math.max(1, n - 1) : n;
}
