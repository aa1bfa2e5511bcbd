import { describe, expect, it } from 'vitest';
import { ADMIN_COMMANDS } from '../../src/administration/registry.ts';
import { adminFlags } from '../../src/cli/daemon/daemon-flags.ts';
import { fieldsOf } from '../../src/schema/fields.ts';

describe.each(
  ADMIN_COMMANDS.map((command) => [`${command.group} ${command.name}`, command] as const),
)('%s', (_, { options, positionals = [] }) => {
  const names = fieldsOf(options).map(({ name }) => name);

  it('has only positionals that are options', () => {
    expect(names).toEqual(expect.arrayContaining([...positionals]));
  });

  it('has no option of the name of a flag that all commands have', () => {
    const own = names.filter((name) => !positionals.includes(name));
    const common = fieldsOf(adminFlags).map(({ name }) => name);
    expect(own.filter((name) => common.includes(name))).toEqual([]);
  });
});

it('contains each command once', () => {
  const names = ADMIN_COMMANDS.map(({ group, name }) => `${group} ${name}`);
  expect(new Set(names).size).toBe(names.length);
});
