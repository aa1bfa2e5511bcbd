import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

interface Tab {
  readonly label: string;
  readonly content: () => ComponentChildren;
}

interface TabsProps {
  /** Name of the group, for screen readers. */
  readonly label: string;
  readonly tabs: readonly Tab[];
}

/** Tabs by the pattern of WAI-ARIA: arrow keys, Home and End move between them. */
export function Tabs({ label, tabs }: TabsProps) {
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const active = Math.min(chosen, tabs.length - 1);
  const onKeyDown = (event: KeyboardEvent) => {
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: (active + 1) % tabs.length,
      ArrowLeft: (active + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    setChosen(target);
    (list.current!.children[target] as HTMLElement).focus();
  };
  return (
    <div class="tabs">
      <div ref={list} role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            key={tab.label}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-controls={`${id}-panel`}
            aria-selected={index === active}
            tabIndex={index === active ? 0 : -1}
            onClick={() => setChosen(index)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${active}`}>
        {tabs[active]!.content()}
      </div>
    </div>
  );
}
