import { describe, expect, it } from 'vitest';
import { ADMIN_COMMANDS } from '../../src/administration/registry.ts';
import { administrationFlags } from '../../src/cli/administration-flags.ts';
import { fieldsOf } from '../../src/schema/fields.ts';

describe.each(
  ADMIN_COMMANDS.map((command) => [`${command.group} ${command.name}`, command] as const),
)('%s', (_, { options, positionals }) => {
  const names = fieldsOf(options).map(({ name }) => name);

  it('takes by place only what it declares', () => {
    expect(names).toEqual(expect.arrayContaining([...positionals]));
  });

  it('has no flag that every command has', () => {
    const own = names.filter((name) => !positionals.includes(name));
    const common = fieldsOf(administrationFlags).map(({ name }) => name);
    expect(own.filter((name) => common.includes(name))).toEqual([]);
  });
});

it('has every command once', () => {
  const names = ADMIN_COMMANDS.map(({ group, name }) => `${group} ${name}`);
  expect(new Set(names).size).toBe(names.length);
});
