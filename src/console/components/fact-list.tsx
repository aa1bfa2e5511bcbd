import type { ComponentChildren } from 'preact';

/** A name and its value; one without a value is not shown. */
export type NamedFact = readonly [name: string, value: ComponentChildren | false];

interface FactListProps {
  readonly facts: readonly NamedFact[];
  readonly class: string;
}

/** Names with their values. */
export function FactList({ facts, class: className }: FactListProps) {
  return (
    <dl class={className}>
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
