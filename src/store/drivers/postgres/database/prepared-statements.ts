import type pg from 'pg';

/** Texts that have names. The plans of one take some 100 kB of the server's memory for each connection. */
const MAX_STATEMENTS = 100;

interface NamedStatement {
  readonly text: string;
  readonly name?: string;
}

/**
 * Names of statements, so that the server parses and plans each once for a connection. Behind a pooler in
 * transaction mode, whose connections have the statements of other clients, none is named.
 */
export class PreparedStatements {
  readonly #finish: (text: string) => string;
  readonly #statements = new Map<string, NamedStatement>();
  /** Connections without a pooler. */
  readonly #direct = new WeakSet<pg.ClientBase>();
  #isDisabled = false;

  /** @param finish makes the text that is sent */
  constructor(finish: (text: string) => string) {
    this.#finish = finish;
  }

  /** Poolers give their clients another process number than the server has. */
  async connected(client: pg.ClientBase): Promise<void> {
    const { rows } = await client.query<{ id: number }>('SELECT pg_backend_pid() AS id');
    if (rows[0]!.id === (client as pg.ClientBase & { processID: number }).processID) {
      this.#direct.add(client);
    }
  }

  /** For poolers that give their clients the number of a process. */
  disable(): void {
    this.#isDisabled = true;
  }

  of(client: pg.ClientBase, text: string): NamedStatement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      const { size } = this.#statements;
      if (size >= MAX_STATEMENTS) return { text: this.#finish(text) };
      statement = { text: this.#finish(text), name: `oriel_${size}` };
      this.#statements.set(text, statement);
    }
    const isNamed = this.#direct.has(client) && !this.#isDisabled;
    return isNamed ? statement : { text: statement.text };
  }
}
