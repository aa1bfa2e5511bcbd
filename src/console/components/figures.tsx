import { type Fact, Facts } from './fact-list.tsx';

/** A number with its title, and facts about it. */
export type Figure = readonly [title: string, value: string, ...facts: Fact[]];

/** The numbers that matter most, large. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="columns figures" style={{ '--least': '9.5rem' }}>
      {figures.map(([title, value, ...facts]) => (
        <div key={title} class="card gap-s">
          <dt class="muted">{title}</dt>
          <dd>
            <span class="figure">{value}</span>
            <Facts facts={facts} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
