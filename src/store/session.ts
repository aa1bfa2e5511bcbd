/** Session of a browser, which has the rights of a key until it ends. */
export interface Session {
  /** SHA-256 of the token in the browser's cookie, hexadecimal. The token itself is not stored. */
  readonly hash: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export type NewSession = Omit<Session, 'createdAt'>;
