/** Kinds of alerts. Webhooks choose among them, and receivers get them as the type of the event. */
export const ALERT_TYPES = [
  ...(['budget.reached', 'credits.reached', 'route.down', 'route.recovered'] as const),
  ...(['provider.refused', 'provider.errors', 'model.errors'] as const),
  ...(['disk.low', 'memory.low', 'node.lost', 'backup.failed', 'alert.test'] as const),
];
export type AlertType = (typeof ALERT_TYPES)[number];

/** Something that an operator has to know of. Texts have names and identifiers, no secrets. */
export interface Alert {
  /** `alert_…`; the header `webhook-id`, by which receivers recognise a repeated event. */
  readonly id: string;
  readonly type: AlertType;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** A sentence for people. */
  readonly message: string;
  /** Identifiers and names of what it is about. */
  readonly subject: Readonly<Record<string, string>>;
  readonly figures: Readonly<Record<string, number>>;
  /** Address of a page of the console. */
  readonly link: string;
}

/** The window in which no other alert of its subject is raised. */
export interface AlertClaim {
  /** What the alert is about: `budget/key_1/day`. */
  readonly subject: string;
  /** A new window, such as the next day of a budget, may have an alert of its own at once. */
  readonly window: string;
  /** Within a window an alert follows only one of a lower level: 80 % follows 50 %. */
  readonly level: number;
  /** End of the window, in milliseconds since the epoch. */
  readonly until: number;
}

/** An alert of which the store decides whether it is raised. */
export interface AlertRequest extends AlertClaim {
  readonly alert: Alert;
  /** Whether it needs an alert of a lower level before it, however old. It begins no window of its own. */
  readonly isFollowUp?: boolean;
}

/** A claim as the store keeps it. */
export interface HeldClaim extends AlertClaim {
  /** Identifier of the alert that was raised. */
  readonly id: string;
  /** Time of the alert, in milliseconds since the epoch. */
  readonly at: number;
}

/** What became of some alerts. */
export interface AlertDecision {
  /** Those that this call has recorded: no other call has, or will before the end of their window. */
  readonly raised: readonly Alert[];
  /** The claims that are held now for the subjects of all of them. */
  readonly claims: readonly HeldClaim[];
}

/** The methods of a store for alerts. */
export interface AlertRecords {
  /**
   * Records alerts, each unless one of its window was recorded before, by any node. An alert with the
   * identifier of a recorded one counts as raised: a transaction may run again after its commit.
   */
  raiseAlerts(requests: readonly AlertRequest[]): Promise<AlertDecision>;
  /** The latest alerts, newest first. The store keeps `MAX_ALERTS` of them. */
  listAlerts(limit: number): Promise<readonly Alert[]>;
}

/** Alerts that a store keeps. */
export const MAX_ALERTS = 1000;

/** Milliseconds for which a claim is kept after its window: a route may recover long after its last alert. */
export const CLAIM_KEPT_MS = 86_400_000;

/** Whether an alert may be raised, by the claim that is held for its subject. */
export function mayRaise(
  { window, level, isFollowUp = false }: Omit<AlertRequest, 'alert'>,
  held: AlertClaim | undefined,
  now: number,
): boolean {
  if (isFollowUp) return held !== undefined && held.level < level;
  return !held || held.until <= now || held.window !== window || held.level < level;
}

/**
 * Decides which alerts are raised, one after the other.
 *
 * @returns also those of them that are not recorded yet, and the claims that change
 */
export function decideAlerts(
  requests: readonly AlertRequest[],
  heldFor: (subject: string) => HeldClaim | undefined,
  now: number,
): AlertDecision & { readonly added: readonly Alert[]; readonly changed: readonly HeldClaim[] } {
  const claims = new Map<string, HeldClaim>();
  const changed = new Map<string, HeldClaim>();
  const raised: Alert[] = [];
  const added: Alert[] = [];
  for (const request of requests) {
    const { alert, subject, window, level, until, isFollowUp } = request;
    const held = claims.get(subject) ?? heldFor(subject);
    if (held) claims.set(subject, held);
    if (held?.id !== alert.id) {
      if (!mayRaise(request, held, now)) continue;
      const end = isFollowUp ? held!.until : until;
      const claim = { subject, window, level, until: end, id: alert.id, at: now };
      claims.set(subject, claim);
      changed.set(subject, claim);
      added.push(alert);
    }
    raised.push(alert);
  }
  return { raised, added, claims: [...claims.values()], changed: [...changed.values()] };
}
