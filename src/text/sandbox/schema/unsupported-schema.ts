/** The sandbox can generate no value for a schema, or not within its step budget. */
export class UnsupportedSchema extends Error {
  /** Whether trying another alternative of the schema is pointless. */
  readonly final: boolean;

  constructor(why: string, final = false) {
    super(why);
    this.name = 'UnsupportedSchema';
    this.final = final;
  }
}
