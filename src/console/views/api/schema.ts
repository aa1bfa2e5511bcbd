/** A JSON Schema of the OpenAPI document. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly expects?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  /** Set for a value that is not shown. */
  readonly secret?: 'always' | 'url';
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A field of a body or a parameter, as a table shows it. */
export interface ShownField {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
  readonly description: string;
}

/** A schema without the alternative null, which a field that may be left out has. */
function withoutNull(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  if (!anyOf) return schema;
  const others = anyOf.filter(({ type }) => type !== 'null');
  return others.length === 1 ? { ...others[0]!, ...rest } : { ...rest, anyOf: others };
}

export function fieldsOf({ properties = {}, required = [] }: Schema): readonly ShownField[] {
  return Object.entries(properties).map(([name, declared]) => {
    const schema = withoutNull(declared);
    return {
      name,
      schema,
      isRequired: required.includes(name),
      description: schema.description ?? '',
    };
  });
}

/** The type of a value in words: `integer, 1 to 100`. */
export function typeText(declared: Schema): string {
  const schema = withoutNull(declared);
  const { type, anyOf, items, minimum, maximum, format } = schema;
  if (schema.enum) return schema.enum.map(String).join(', ');
  if (anyOf) return [...new Set(anyOf.map(typeText))].join(' or ');
  if (format === 'binary') return 'file';
  if (fileKind(schema) === 'many') return 'files';
  if (type === 'array') return items ? `list of ${typeText(items)}` : 'list';
  if (type !== 'integer' && type !== 'number') return type ?? 'any value';
  return `${type}${rangeText(minimum, maximum)}`;
}

function rangeText(minimum?: number, maximum?: number): string {
  const top = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && minimum > -Number.MAX_SAFE_INTEGER) {
    return top === undefined ? `, from ${minimum}` : `, ${minimum} to ${top}`;
  }
  return top === undefined ? '' : `, up to ${top}`;
}

/** The default of a field; empty if it has none. */
export function defaultText({ default: byDefault }: Schema): string {
  return byDefault === undefined ? '' : String(byDefault);
}

/** Whether a field of a form takes files, and whether several. */
export function fileKind({ format, items }: Schema): 'one' | 'many' | null {
  if (format === 'binary') return 'one';
  return items?.format === 'binary' ? 'many' : null;
}
