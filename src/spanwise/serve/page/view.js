// What of a document is shown: entities and relations that pass the threshold and whose labels are ticked.
import { scoreOf } from "./marks.js";

// The document with what passes. A relation needs both of its ends; its head and tail count the entities that are left.
export function filtered(whole, { threshold, hiddenEntities, hiddenRelations }) {
  const passes = (found, hidden) => scoreOf(found) >= threshold && !hidden.has(found.label);
  const places = new Map();
  const entities = whole.entities.filter((entity, number) => {
    if (!passes(entity, hiddenEntities)) return false;
    places.set(number, places.size);
    return true;
  });
  const relations = whole.relations
    .filter((tie) => passes(tie, hiddenRelations) && places.has(tie.head) && places.has(tie.tail))
    .map((tie) => ({ ...tie, head: places.get(tie.head), tail: places.get(tie.tail) }));
  return { ...whole, entities, relations };
}

// How often each label occurs at this threshold: known labels that occur in their order, then others by name.
export function countedLabels(found, known, threshold) {
  const counts = new Map(inOrder(found, known).map((label) => [label, 0]));
  for (const one of found) if (scoreOf(one) >= threshold) counts.set(one.label, counts.get(one.label) + 1);
  return counts;
}

function inOrder(found, known) {
  const occurring = new Set(found.map(({ label }) => label));
  return [...new Set([...known.filter((label) => occurring.has(label)), ...[...occurring].sort()])];
}

// A color per label: the known labels in their order, whether they occur or not, then others by name.
export function colorIndices(found, known) {
  const others = [...new Set(found.map(({ label }) => label))].filter((label) => !known.includes(label)).sort();
  return new Map([...known, ...others].map((label, index) => [label, index]));
}

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const share = (shown, all, one, many) =>
  shown === all ? plural(all, one, many) : `${shown.toLocaleString("en")} of ${plural(all, one, many)}`;

// "3 entities", or "2 of 3 entities · 1 relation" where some are hidden.
export function summary(shown, whole) {
  const entities = share(shown.entities.length, whole.entities.length, "entity", "entities");
  const relations = share(shown.relations.length, whole.relations.length, "relation", "relations");
  return whole.relations.length ? `${entities} · ${relations}` : entities;
}

export const characters = (count) => plural(count, "character", "characters");
